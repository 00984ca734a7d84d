"""Algorithm 1: whatever is accepted, refused or ends in an error, the states visited are those of a plain recursion."""

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planbook.envs import Environment, Selection, Task
from planbook.envs.textcraft import Textcraft
from planbook.planner import MemoryJournal, Outcome, Recall
from planbook.sandbox import Sandbox
from tests.planner.counsellors import NO, YES, Counsellors, aligned, played, recorded
from tests.planner.players import TASK, Traced, code

Path = tuple[str, ...]
CRAFTING = Textcraft.tasks(Selection(ids=("test/17",)))[0]
ITEMS = ("oak logs", "cobblestone", "string", "coal", "stone", "leather", "feather", "flint", "paper")


class Walked(Traced):
    """Goes back by walking its history again."""

    def _save(self) -> object:
        return None


@dataclass(frozen=True)
class Chance:
    """A tree drawn by a seed: what there is to try at each moment, and how each idea is judged."""

    seed: int
    remedies: int
    parts: int = 3
    deepest: int = 5

    def draw(self, *what: object) -> float:
        return random.Random(f"{self.seed}/{what}").random()

    def ideas(self, path: Path) -> list[str]:
        count = 0 if len(path) >= self.deepest else 1 + int(self.draw("ideas", path) * (self.remedies + 1))
        return [f"{len(path)}{'abcdefgh'[number]}" for number in range(min(count, self.remedies + 1))]

    def fails(self, path: Path) -> bool:
        return self.draw("fails", path) < 0.15

    def aligned(self, path: Path) -> bool:
        return self.draw("aligned", path) < 0.6

    def task_done(self, path: Path) -> bool:
        return self.draw("task", path) < 0.03

    def subtask_done(self, path: Path, subtask: int) -> bool:
        return self.draw("subtask", path, subtask) < 0.4


class Done(Exception):
    """The task is held to be complete."""


def by_recursion(tree: Chance) -> tuple[list[tuple[Path, str]], bool]:
    """Every idea that is tried, with the moment where that is done; and whether the task is held to be complete."""
    tried: list[tuple[Path, str]] = []

    def visit(path: Path, subtask: int) -> None:
        if tree.task_done(path):
            raise Done
        subtask += tree.subtask_done(path, subtask)
        for idea in tree.ideas(path) if subtask < tree.parts else []:
            tried.append((path, idea))
            further = (*path, idea)
            if not tree.fails(further) and tree.aligned(further):
                visit(further, subtask)

    try:
        visit((), 0)
    except Done:
        return tried, True
    return tried, False


@dataclass
class Watched:
    """An environment for the tree search, with plan code that takes an idea's action, and what it printed."""

    environment: Environment
    task: Task
    step: Callable[[str], str]
    path: Callable[[], Path]
    journal: MemoryJournal = field(default_factory=MemoryJournal)

    def code(self, idea: str, *, fails: bool) -> str:
        more = ["raise ValueError('wrong')"] if fails else []
        lines = ["print(trace)", f"trace = trace + [{idea!r}]", self.step(idea), *more]
        return code(*lines)

    @property
    def trace(self) -> list[Path]:
        """What the namespace held as each cell began."""
        cells: list[Any] = [body for (_, kind, _), body in self.journal.events.items() if kind == "cell"]
        outputs = [cell["feedback"]["output"] for cell in cells]
        return [tuple(part.strip(" '") for part in each.strip("[]\n").split(",") if part) for each in outputs]


def toy(environment: Traced) -> Watched:
    def path() -> Path:
        return tuple(str(action.args[0]) for action, _ in environment.history)

    return Watched(environment, TASK, lambda idea: f"agent.touch({idea!r})", path)


def crafting() -> Watched:
    """Each idea gets an item by whose number of pieces it is told again from what is carried."""
    environment = Textcraft()

    def step(idea: str) -> str:
        return f"agent.get('{1 + 'abcdefgh'.index(idea[1])} {gettable()[int(idea[0])]}')"

    def gettable() -> list[str]:
        makes = {command.makes for command in environment.bench.shown}
        return [item for item in ITEMS if item not in makes]

    def path() -> Path:
        counts = [environment.carried.get(item, 0) for item in gettable()]
        return tuple(f"{depth}{'abcdefgh'[count - 1]}" for depth, count in enumerate(counts) if count)

    return Watched(environment, CRAFTING, step, path)


class Tracing:
    """Every namespace begins with a trace of nothing."""

    def recall(self, task: Task) -> Recall:
        return Recall(helpers="trace = []\n")


class Walkers(Counsellors):
    """Models that know the tree, and by the environment itself where in it they are."""

    def __init__(self, tree: Chance, watched: Watched) -> None:
        super().__init__(plan="\n".join(f"{number}. part {number - 1}" for number in range(1, tree.parts + 1)))
        self._tree, self._watched = tree, watched
        self._asked: dict[Path, int] = {}
        self.tried: list[Path] = []

    def say(self, name: str, prompt: str) -> str:
        path, tree = self._watched.path(), self._tree
        if name in ("act", "remedy"):
            return self._idea(path, 0 if name == "act" else self._asked[path] + 1)
        if name == "align":
            self.tried.append(path)
            return aligned(f"Went to {path}.", verdict="YES" if tree.aligned(path) else "NO")
        if name == "task_done":
            return YES if tree.task_done(path) else NO
        if name == "subtask_done":
            subtask = int(prompt.split("as things stand: part ")[1].split()[0])
            return YES if tree.subtask_done(path, subtask) else NO
        return super().say(name, prompt)

    def _idea(self, path: Path, number: int) -> str:
        ideas, self._asked[path] = self._tree.ideas(path), number
        if number >= len(ideas):
            return "NONE" if number else "There is nothing to do."
        idea = ideas[number]
        return self._watched.code(idea, fails=self._tree.fails((*path, idea)))


ENVIRONMENTS: dict[str, Callable[[], Watched]] = {
    "a copy": lambda: toy(Traced()),
    "walked again": lambda: toy(Walked()),
    "textcraft": crafting,
}


@pytest.mark.parametrize("environment", ENVIRONMENTS)
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), remedies=st.integers(0, 3))
def test_the_states_visited_are_those_of_algorithm_1(
    sandbox: Sandbox, environment: str, seed: int, remedies: int
) -> None:
    tree, watched = Chance(seed, remedies), ENVIRONMENTS[environment]()
    walkers = Walkers(tree, watched)
    options: dict[str, Any] = {"remedies": remedies, "rounds": 1}
    ending, playing = played(
        sandbox,
        walkers,
        options=options,
        environment=watched.environment,
        task=watched.task,
        journal=watched.journal,
        memory=Tracing(),
        actions=1_000,
    )
    expected, complete = by_recursion(tree)
    assert ending.outcome is Outcome.FAILURE, ending.message
    cells = [cell for cell in playing.cells if cell.code]
    ran = [trace for cell, trace in zip(playing.cells, watched.trace, strict=True) if cell.code]
    assert ran == [path for path, _ in expected], "the namespace at each idea is that of the moment it was meant for"
    assert [cell.code.splitlines()[1].split("'")[1] for cell in cells] == [idea for _, idea in expected]
    alive = [(*path, idea) for path, idea in expected if not tree.fails((*path, idea))]
    assert walkers.tried == alive, "the world after each idea is that of its moment, and the idea"
    assert len(playing.steps) == len(expected)
    kept = recorded(watched.journal, "branch")
    assert [each["fate"] != "not tried" for each in kept].count(True) == len(expected)
    assert complete or not any(each["fate"] == "not tried" for each in kept)
