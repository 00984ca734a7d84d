"""On random trees, Devil's Advocate visits the same states as algorithm 1 of the paper, a plain recursion."""

import random
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import given, settings, strategies as st

from planbook.planner import MemoryJournal, Outcome
from planbook.sandbox import Sandbox
from tests.planner.advocate_kit import NO, YES, AdvocateModels, aligned, played, recorded
from tests.planner.episode_kit import FixedMemory, TouchToy, code

Path = tuple[str, ...]


class ReplayedToy(TouchToy):
    """An environment that is rewound by replaying its history."""

    def _save(self) -> object:
        return None


@dataclass(frozen=True)
class RandomTree:
    """A random tree of ideas: which ideas there are at each state, and how each is judged."""

    seed: int
    remedies: int
    parts: int = 3
    deepest: int = 5

    def draw(self, *key: object) -> float:
        return random.Random(f"{self.seed}/{key}").random()

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


class TaskComplete(Exception):
    """The task is considered complete."""


def by_recursion(tree: RandomTree) -> tuple[list[tuple[Path, str]], bool]:
    """Return every idea with the state in which it is tried, and whether the task is considered complete."""
    tried: list[tuple[Path, str]] = []

    def visit(path: Path, subtask: int) -> None:
        if tree.task_done(path):
            raise TaskComplete
        subtask += tree.subtask_done(path, subtask)
        for idea in tree.ideas(path) if subtask < tree.parts else []:
            tried.append((path, idea))
            next_path = (*path, idea)
            if not tree.fails(next_path) and tree.aligned(next_path):
                visit(next_path, subtask)

    try:
        visit((), 0)
    except TaskComplete:
        return tried, True
    return tried, False


@dataclass
class TracedEpisode:
    """An environment for a search in the tree, with the journal of its episode."""

    environment: TouchToy
    journal: MemoryJournal = field(default_factory=MemoryJournal)

    def path(self) -> Path:
        """Return the current position in the tree."""
        return tuple(str(action.args[0]) for action, _ in self.environment.history)

    @property
    def trace(self) -> list[Path]:
        """The values of the variable ``trace`` at the beginning of each cell (piece of plan code)."""
        cells: list[Any] = [body for (_, kind, _), body in self.journal.events.items() if kind == "cell"]
        outputs = [cell["feedback"]["output"] for cell in cells]
        return [tuple(part.strip(" '") for part in each.strip("[]\n").split(",") if part) for each in outputs]


class TraceMemory(FixedMemory):
    """A memory that defines an empty ``trace`` in every namespace."""

    def __init__(self) -> None:
        super().__init__(helpers="trace = []\n")


class TreeModels(AdvocateModels):
    """Models that know the tree, and read their position in it from the environment."""

    def __init__(self, tree: RandomTree, watched: TracedEpisode) -> None:
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
            subtask = int(prompt.split("in the current state: part ")[1].split()[0])
            return YES if tree.subtask_done(path, subtask) else NO
        return super().say(name, prompt)

    def _idea(self, path: Path, number: int) -> str:
        ideas, self._asked[path] = self._tree.ideas(path), number
        if number >= len(ideas):
            return "NONE" if number else "There is nothing to do."
        idea = ideas[number]
        fails = ["raise ValueError('wrong')"] if self._tree.fails((*path, idea)) else []
        return code("print(trace)", f"trace = trace + [{idea!r}]", f"agent.touch({idea!r})", *fails)


@pytest.mark.parametrize("environment", [TouchToy, ReplayedToy])
@settings(max_examples=15)
@given(seed=st.integers(0, 10**6), remedies=st.integers(0, 3))
def test_the_states_visited_are_those_of_algorithm_1(
    sandbox: Sandbox, environment: type[TouchToy], seed: int, remedies: int
) -> None:
    tree, watched = RandomTree(seed, remedies), TracedEpisode(environment())
    walkers = TreeModels(tree, watched)
    ending, playing = played(
        sandbox,
        walkers,
        options={"remedies": remedies, "rounds": 1},
        environment=watched.environment,
        journal=watched.journal,
        memory=TraceMemory(),
        actions=1_000,
    )
    expected, complete = by_recursion(tree)
    assert ending.outcome is Outcome.FAILURE, ending.message
    cells = [cell for cell in playing.cells if cell.code]
    ran = [trace for cell, trace in zip(playing.cells, watched.trace, strict=True) if cell.code]
    assert ran == [path for path, _ in expected], "each idea has the namespace of its state"
    assert [cell.code.splitlines()[1].split("'")[1] for cell in cells] == [idea for _, idea in expected]
    alive = [(*path, idea) for path, idea in expected if not tree.fails((*path, idea))]
    assert walkers.tried == alive, "the environment is in the state of the idea, plus the idea itself"
    assert len(playing.steps) == len(expected)
    kept = recorded(watched.journal, "branch")
    assert [each["fate"] != "not tried" for each in kept].count(True) == len(expected)
    assert complete or not any(each["fate"] == "not tried" for each in kept)
