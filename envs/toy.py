"""A toy environment for documentation and tests: boxes, things, and a table on which the agent puts the things.

The layout depends only on the type and the seed of the task. An episode takes microseconds and needs no extra package.
"""

import copy
import random
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

from pydantic import BaseModel, JsonValue

from planbook.envs.base import Environment, action, query
from planbook.envs.preconditions import UNKNOWN, ArgValue, Change, Contract, Fact, Need, Preconditions
from planbook.envs.selection import chosen_types, interleave, read_seeded_id
from planbook.envs.types import Observation, Selection, Task, Verdict

THINGS = ("apple", "book", "coin", "key", "lamp", "pen", "ring", "spoon")
DEFAULT_SEEDS = tuple(range(5))
HOLDING = Fact("holding")


class Toy(Environment):
    """A table and some closed boxes. The task names one or two things that must end up on the table."""

    name = "toy"
    about = (
        "A toy world: a table, and several boxes with things in them. All boxes are closed at first. The agent opens "
        "boxes, takes things out and puts them on the table; it can hold one thing at a time. Every action returns a "
        "text that says what happened, or 'Nothing happens: ' and the reason if it cannot be done. The task is done as "
        "soon as everything that it names is on the table."
    )
    types: ClassVar[tuple[str, ...]] = ("fetch", "fetch_two")
    splits: ClassVar[tuple[str, ...]] = ("all",)
    seeded = True
    action_limit = 30
    attributes = {"holding": "the thing in hand, or 'nothing'"}

    def __init__(self, options: BaseModel | None = None) -> None:
        super().__init__(options)
        self._boxes: dict[str, list[str]] = {}
        self._open: set[str] = set()
        self._table: list[str] = []
        self._holding = "nothing"

    @classmethod
    def tasks(cls, selection: Selection, options: BaseModel | None = None) -> Sequence[Task]:
        """Return one task for each selected type and seed."""
        if selection.ids:
            return [cls._task(*read_seeded_id(task_id, cls.types, cls.name)) for task_id in selection.ids]
        seeds = selection.seeds or DEFAULT_SEEDS
        types = chosen_types(selection, cls.types, cls.name)
        return list(interleave(([cls._task(kind, seed) for seed in seeds] for kind in types), selection.limit))

    @classmethod
    def _task(cls, kind: str, seed: int) -> Task:
        things = random.Random(f"{kind}/{seed}").sample(THINGS, 2 if kind == "fetch_two" else 1)
        goal = f"put the {' and the '.join(things)} on the table"
        params: dict[str, JsonValue] = {"things": list[JsonValue](things)}
        return Task(id=f"{kind}/{seed}", env=cls.name, split="all", type=kind, goal=goal, params=params, seed=seed)

    @classmethod
    def preconditions(cls, task: Task, options: BaseModel | None = None) -> Preconditions:
        """Return the preconditions of this task's actions.

        The places of things are not declared, since the agent does not know in advance what is in the boxes.
        """
        boxes = _draw_boxes(random.Random(f"layout/{task.id}"))

        def open_box(box: ArgValue) -> Contract:
            if box is not UNKNOWN and box not in boxes:
                return Contract(impossible_reason=f"there is no {box}")
            return Contract(changes=[Change(Fact("opened", (box,)), True)], needs_suffice=True)

        def take(thing: ArgValue, box: ArgValue) -> Contract:
            if thing is not UNKNOWN and thing not in THINGS:
                return Contract(impossible_reason=f"nothing is called {thing}")
            empty = Need.equal(HOLDING, "nothing", "{now} is held")
            opened = Need.equal(Fact("opened", (box,)), True, f"{box} has not been opened")
            inside = Need.equal(Fact("place", (thing,)), box, f"{thing} is {{now}}")
            changes = [Change(HOLDING, thing), Change(Fact("place", (thing,)), "in hand")]
            return Contract([empty, opened, inside], changes, needs_suffice=True)

        def put(thing: ArgValue) -> Contract:
            something_held = Need.satisfies(HOLDING, lambda now: now != "nothing", "nothing is held")
            thing_held = Need.equal(HOLDING, thing, "{now} is held")
            changes = [Change(HOLDING, "nothing"), Change(Fact("place", (thing,)), "on the table")]
            return Contract([something_held, thing_held], changes, needs_suffice=True)

        return Preconditions(
            {"open": open_box, "take": take, "put": put},
            start={HOLDING: "nothing"},
            defaults={"opened": False},
            attributes={"holding": HOLDING},
        )

    def begin(self, task: Task) -> Observation:
        """Distribute the things randomly among four to eight boxes, and return the first observation."""
        rng = random.Random(f"layout/{task.id}")
        self._boxes = {box: [] for box in _draw_boxes(rng)}
        for thing in THINGS:
            self._boxes[rng.choice(sorted(self._boxes))].append(thing)
        self._open, self._table, self._holding = set(), [], "nothing"
        return Observation(f"{self.scene()} Your task is to: {task.goal}.")

    def scene(self) -> str:
        """Return a sentence that lists the boxes."""
        return f"You see {', '.join(self._boxes)} and a table."

    @action("agent.open('box_2') -> 'You open box_2. In it, you see key.'")
    def open(self, box: str) -> Observation:
        """Open a box and see what is in it. An open box may be opened again."""
        if box not in self._boxes:
            return Observation.refused(f"there is no {box}")
        self._open.add(box)
        return Observation(f"You open {box}. In it, you see {', '.join(self._boxes[box]) or 'nothing'}.")

    @action("agent.take('key', 'box_2') -> 'You take key from box_2.'")
    def take(self, thing: str, box: str) -> Observation:
        """Take a thing out of an open box. The hand must be empty."""
        if self._holding != "nothing":
            return Observation.refused(f"you hold {self._holding}")
        if box not in self._open or thing not in self._boxes[box]:
            return Observation.refused(f"you see no {thing} in {box}")
        self._boxes[box].remove(thing)
        self._holding = thing
        return Observation(f"You take {thing} from {box}.")

    @action("agent.put('key') -> 'You put key on the table.'")
    def put(self, thing: str) -> Observation:
        """Put a thing on the table. It must be the thing in hand."""
        if self._holding != thing or thing == "nothing":
            return Observation.refused(f"you do not hold {thing}")
        self._table.append(thing)
        self._holding = "nothing"
        return Observation(f"You put {thing} on the table.", terminated=self.verdict().solved)

    @query("agent.table() -> ['key']")
    def table(self) -> list[JsonValue]:
        """Return the things on the table."""
        return list(self._table)

    def state(self) -> str:
        """Return two sentences: what is in hand, and what is on the table."""
        return f"You hold {self._holding}. On the table: {', '.join(self._table) or 'nothing'}."

    def attribute_values(self) -> Mapping[str, JsonValue]:
        """Return the thing in hand."""
        return {"holding": self._holding}

    def verdict(self) -> Verdict:
        """Return the verdict: solved if all things that the task names are on the table.

        The score is the fraction of these things that are on the table.
        """
        things = self.task.params["things"] if self.task else []
        if not isinstance(things, list) or not things:
            return Verdict(False, 0.0)
        done = sum(thing in self._table for thing in things)
        return Verdict(done == len(things), done / len(things))

    def _save(self) -> object:
        return copy.deepcopy((self._boxes, self._open, self._table, self._holding))

    def _load(self, saved: Any) -> None:
        self._boxes, self._open, self._table, self._holding = copy.deepcopy(saved)


def _draw_boxes(rng: random.Random) -> list[str]:
    return [f"box_{number}" for number in range(1, rng.randint(4, 8) + 1)]
