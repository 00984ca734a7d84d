"""The shipped ALFWorld procedures, on generated games and on the real ones where they are installed.

The harness here only executes plan code; it is no sandbox.
"""

import ast
import os
from collections.abc import Callable, Sequence
from pathlib import Path
from types import CodeType, SimpleNamespace

import pytest

import manuals
from envs.alfworld import Alfworld, games
from envs.alfworld.goals import TYPES
from envs.base import Action, Selection, Task

SHIPPED = Path(manuals.__file__).parent / "alfworld"
LIMIT = 50


class _Over(BaseException):
    """The episode ended, or its actions are used up."""


class Agent:
    """What plan code acts through."""

    def __init__(self, world: Alfworld) -> None:
        self._world = world
        self.actions = 0

    def __getattr__(self, name: str) -> object:
        if name in self._world.attributes:
            return self._world.attribute_values()[name]
        return lambda *arguments: self._act(Action(name, arguments))

    def _act(self, action: Action) -> str:
        if self.actions == LIMIT:
            raise _Over
        self.actions += 1
        observation = self._world.act(action)
        if observation.terminated:
            raise _Over
        return observation.text


def header(path: Path) -> dict[str, str]:
    text = ast.get_docstring(ast.parse(path.read_text())) or ""
    summary, _, lines = text.partition("\n\n")
    return {"summary": summary} | dict(line.split(": ", 1) for line in lines.splitlines())


def compiled(kind: str) -> CodeType:
    path = SHIPPED / "procedures" / f"{kind}.py"
    helpers = [SHIPPED / "helpers" / f"{name}.py" for name in header(path).get("uses", "").split()]
    source = "\n".join([Alfworld.helpers, *(file.read_text() for file in (*helpers, path))])
    return compile(source, kind, "exec")


@pytest.fixture(scope="module")
def solves() -> Callable[[Task], str]:
    """What went wrong when a task's procedure was run, or nothing."""
    code = {kind: compiled(kind) for kind in TYPES}
    world = Alfworld()

    def run(task: Task) -> str:
        namespace: dict[str, Callable[[Agent, SimpleNamespace], None]] = {}
        first = world.reset(task)
        agent, seen = Agent(world), SimpleNamespace(**task.model_dump(), observation=first.text)
        problem = "returned"
        try:
            exec(code[task.type], namespace)
            namespace["solve"](agent, seen)
        except _Over:
            problem = "out of actions"
        except Exception as error:
            problem = f"{type(error).__name__}: {error}"
        return "" if world.verdict().solved else f"{task.id} ({task.goal}): {problem}"

    return run


def failures(tasks: Sequence[Task], solves: Callable[[Task], str]) -> list[str]:
    return [problem for task in tasks if (problem := solves(task))]


def test_there_is_a_procedure_for_each_type_and_its_header_says_so() -> None:
    files = {path.stem: header(path) for path in (SHIPPED / "procedures").glob("*.py")}
    assert set(files) == set(TYPES)
    for kind, said in files.items():
        assert said["world"] == "alfworld"
        assert said["type"] == kind
        assert said["summary"].endswith(".")
        assert said["source"]


@pytest.mark.parametrize("kind", TYPES)
def test_generated_games_are_solved(kind: str, solves: Callable[[Task], str]) -> None:
    assert failures(Alfworld.tasks(Selection(split="generated", types=(kind,))), solves) == []


def on_disk(split: str) -> bool:
    return bool(os.environ.get("ALFWORLD_DATA")) and (games.data_root() / games.DATA_FOLDER / split).is_dir()


@pytest.mark.skipif(not on_disk("valid_seen"), reason="ALFWORLD_DATA does not hold the split valid_seen")
def test_all_games_seen_are_solved(solves: Callable[[Task], str]) -> None:
    tasks = Alfworld.tasks(Selection(split="valid_seen"))
    assert len(tasks) == 140
    assert failures(tasks, solves) == []


@pytest.mark.slow
@pytest.mark.skipif(not on_disk("train"), reason="ALFWORLD_DATA does not hold the split train")
def test_nearly_all_games_of_train_are_solved(solves: Callable[[Task], str]) -> None:
    tasks = Alfworld.tasks(Selection(split="train"))
    assert len(tasks) == 3553
    assert len(failures(tasks, solves)) <= 3
