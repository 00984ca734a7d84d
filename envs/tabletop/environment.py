"""The tabletop environment of the DEPS paper (appendix A.2) in text. Its only action moves a thing to a place.

The module also defines the goals among which the planning method DEPS chooses.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

from pydantic import BaseModel

from planbook.envs.base import Environment, action, query
from planbook.envs.optional_members import Goals
from planbook.envs.selection import chosen_types, interleave, read_seeded_id
from planbook.envs.tabletop.table import (
    ACCEPTED_KINDS,
    CONTAINERS,
    GOALS,
    SCENES,
    SEPARATOR,
    SIZES,
    Table,
    TableScene,
    fraction_done,
    make_scene,
)
from planbook.envs.types import Action, Observation, Selection, Task, Verdict

DEFAULT_SEEDS = range(5)
"""Five seeds, since the paper plays each type of task five times."""


class Tabletop(Environment):
    """One table, which the agent observes completely. The score is the fraction of the task's things in place."""

    name = "tabletop"
    about = (
        "A table in words: a robot arm picks up one thing at a time and puts it somewhere else. The first observation "
        "lists the places, which never move (twelve spots of the table; then bowls, the holes of a kit, pegs, a box, "
        "or three bases side by side), and the things, each with what it is on or in; names say what they are, such as "
        "red_block or star_hole. A thing can be moved only if nothing lies on it, and only to where it fits and does "
        "not fall; a place takes one thing, but the box takes as many as it has room for. A move that cannot be made "
        "changes nothing and returns 'Nothing happens: ' and the reason. The task is done, and the episode ends, as "
        "soon as everything it asks for is in place; not everything on the table is part of the task."
    )
    types = tuple(SCENES)
    splits = ("test",)
    seeded = True
    action_limit = 15
    handoff = "state"

    def __init__(self, options: BaseModel | None = None) -> None:
        super().__init__(options)
        self._scene = TableScene({})
        self.table = Table({}, {})

    @classmethod
    def tasks(cls, selection: Selection, options: BaseModel | None = None) -> Sequence[Task]:
        """Return a task for each selected type and seed."""
        if selection.ids:
            return [cls._task(*read_seeded_id(task_id, cls.types, cls.name)) for task_id in selection.ids]
        seeds, types = selection.seeds or DEFAULT_SEEDS, chosen_types(selection, cls.types, cls.name)
        return list(interleave(([cls._task(name, seed) for seed in seeds] for name in types), selection.limit))

    @classmethod
    def _task(cls, task_type: str, seed: int) -> Task:
        task_id = f"{task_type}/{seed}"
        return Task(id=task_id, env=cls.name, split="test", type=task_type, goal=GOALS[task_type], seed=seed)

    def begin(self, task: Task) -> Observation:
        """Set up the scene, and return the first observation."""
        self._scene = make_scene(task.type, task.seed)
        self.table = Table(self._scene.things, self._scene.layout)
        return Observation(f"{self.scene()} {self.state()}\nYour task is to: {task.goal}.")

    def scene(self) -> str:
        """Return a sentence that lists the places, which never change."""
        fixed = [thing.label for thing in self.table.things.values() if thing.name not in self.table.layout]
        places = ", ".join(label for label in fixed if not label.startswith("spot_"))
        return f"You see a table with spot_1 to spot_12, and {places}."

    @property
    def goals(self) -> "TabletopGoals":
        """The goals for DEPS. Each goal is one move."""
        return TabletopGoals(self)

    @action("agent.pick_place('red_block', 'red_bowl') -> 'You put red_block in red_bowl.'")
    def pick_place(self, object: str, target: str) -> Observation:
        """Pick a thing up, and put it in or on a place or another thing.

        To lay a block across two blocks side by side, name both as the target: 'red_block and blue_block'. A spot takes
        a block or a shape, a bowl or a base takes a block, a hole only its own shape, the box blocks and shapes, and a
        peg a ring. A ring goes only on a peg or a larger ring, and nothing goes on a smaller thing. A small thing takes
        1 of the box's room, a large one 3. To clear the way, put things on a free spot.
        """
        if reason := self.table.refusal(object, target):
            return Observation.refused(reason)
        self.table.move(object, target)
        return Observation(f"You put {object} {self._describe_supports(object)}.", terminated=self.verdict().solved)

    @query("agent.things() -> {'red_block': 'spot_3', 'blue_block': 'red_block', 'pink_ring': 'dark_peg'}")
    def things(self) -> dict[str, str]:
        """Return all movable things, each with what it is on or in. A block across two others has both names."""
        return {name: SEPARATOR.join(supports) for name, supports in self.table.layout.items()}

    @query("agent.places() -> {'red_bowl': ['red_block'], 'star_hole': []}")
    def places(self) -> dict[str, list[str]]:
        """Return the places other than spots, each with what is directly on or in it."""
        fixed = [thing for thing in self.table.things.values() if thing.name not in self.table.layout]
        return {thing.name: list(self.table.things_on(thing.name)) for thing in fixed if thing.kind != "spot"}

    @query("agent.free_spots() -> ['spot_2', 'spot_5']")
    def free_spots(self) -> list[str]:
        """Return the spots of the table that have nothing on them."""
        return list(self.table.free_spots())

    @query("agent.look_at('pink_ring') -> {'kind': 'ring', 'colour': 'pink', 'size': 'small', 'carries': [], ...}")
    def look_at(self, name: str) -> dict[str, object]:
        """Return a thing's or place's kind, colour, shape, size, what it carries, and position [right, front, level].

        Right and front are block widths from the left and the back; levels count up from the table. A box also has
        'room left'. An unknown name gives {}.
        """
        if not isinstance(name, str) or name not in self.table.things:
            return {}
        thing = self.table.things[name]
        properties = {"kind": thing.kind, "colour": thing.colour, "shape": thing.shape, "size": SIZES[thing.size]}
        details: dict[str, object] = {key: value for key, value in properties.items() if value}
        if name not in self.table.layout:
            details.pop("size")
        if thing.kind == "box":
            details["room left"] = thing.capacity - self.table.used_room(name)
        carried, position = list(self.table.things_on(name)), list(self.table.position(name))
        return {**details, "carries": carried, "position": position}

    def _describe_supports(self, name: str) -> str:
        supports = self.table.layout[name]
        inside = self.table.things[supports[0]].kind in CONTAINERS
        return f"{'in' if inside else 'on'} {SEPARATOR.join(supports)}"

    def state(self) -> str:
        """Return a sentence that gives the support of every thing."""
        positions = [f"{self.table.things[name].label} {self._describe_supports(name)}" for name in self.table.layout]
        return f"On the table: {'; '.join(positions)}."

    def verdict(self) -> Verdict:
        """Return the verdict: solved if all things of the task are in place. The score is the fraction in place."""
        fraction = fraction_done(self._scene, self.table) if self.task else 0.0
        return Verdict(fraction == 1.0, fraction)

    def _save(self) -> object:
        return self.table.layout

    def _load(self, saved: Any) -> None:
        self.table.layout = saved


class TabletopGoals(Goals):
    """The goals on the table. Each goal is one move. If two goals need the same place, only one can be reached."""

    environment: Tabletop

    @property
    def _table(self) -> Table:
        return self.environment.table

    def is_open(self, goal: Action) -> bool:
        """Return True if the move is possible now. The agent can see everything on which this depends."""
        return not self._table.refusal(*goal.args)

    def materials(self, goal: Action) -> Mapping[str, int]:
        """Return the moved thing and the target of the move, each with the count 1.

        A box does not count as a material, since it takes several things.
        """
        moved, target = map(str, goal.args)
        place = self._table.things.get(target)
        if place and place.kind == "box":
            return {moved: 1}
        return {moved: 1, SEPARATOR.join(self._table.supports(target)): 1}

    def list_goals(self) -> Sequence[Action]:
        """Return the moves of each thing to every place or thing that accepts its kind.

        If the table has bases for a pyramid, add the moves of each block onto every pair of other blocks.
        """
        moves: list[Action] = []
        things = self._table.things
        bases = [name for name, thing in things.items() if thing.kind == "base"]
        blocks = [name for name, thing in things.items() if thing.kind == "block"] if bases else []
        for moved in self._table.layout:
            targets = [name for name, thing in things.items() if things[moved].kind in ACCEPTED_KINDS[thing.kind]]
            if moved in blocks:
                targets += [SEPARATOR.join(pair) for pair in combinations(blocks, 2) if moved not in pair]
            moves += (Action("pick_place", (moved, name)) for name in targets if name != moved)
        return moves
