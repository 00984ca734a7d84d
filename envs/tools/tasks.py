"""The tasks of tools: a YAML or JSON file of goals, each with a judge.

tasks:
  - id: move-report
    goal: Move report.txt into the folder done.
    judge: {assert: "'report.txt' in agent.ls('done')"}
"""

import ast
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator

from planbook.envs.errors import BadSelection
from planbook.envs.registry import CannotLoad, load_module
from planbook.envs.types import Selection, Task
from planbook.envs.yaml_lines import FileFault, Where, YamlFile, read_yaml

SPLITS = ("all", "train", "test")
"""The first holds the tasks of both others. A task that names no split is in all of them."""
PythonJudge = Callable[..., bool | float]


class Judge(BaseModel):
    """How a task is judged: by exactly one of these."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    answer: JsonValue = None
    """The answer that ``agent.answer`` must be given."""
    asserted: str | tuple[str, ...] = Field(default=(), alias="assert")
    """Plan code over the tools that only read, ``answer`` and ``task``; several are scored by their share."""
    python: str = ""
    """``FILE.py:function`` or ``package.module:function``; it gets some of ``state``, ``answer`` and ``task``."""

    @model_validator(mode="after")
    def _one(self) -> "Judge":
        if len(self.model_fields_set) != 1:
            raise ValueError("a judge is one of answer, assert and python; leave `judge` out if nobody judges")
        return self

    @property
    def assertions(self) -> tuple[str, ...]:
        """The pieces of plan code that must hold."""
        return (self.asserted,) if isinstance(self.asserted, str) else self.asserted


class TaskGoal(BaseModel):
    """One task of the file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str = Field(pattern=r"^[\w.-]+(/[\w.-]+)*$")
    goal: str = Field(min_length=1)
    type: str = Field(default="task", pattern=r"^[a-z][a-z0-9_]*$")
    split: Literal["train", "test"] | None = None
    params: dict[str, JsonValue] = {}
    seed: int = 0
    judge: Judge | None = None


class TaskFile(BaseModel):
    """The whole file."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    tasks: tuple[TaskGoal, ...]


def read_goals(path: Path) -> Mapping[str, TaskGoal]:
    """Return the goals of a file, by id. Raises BadSelection with all its faults and their lines."""
    try:
        return _read(path, path.stat().st_mtime_ns)
    except OSError as error:
        raise BadSelection(f"{path} cannot be read: {error.strerror}; tasks=FILE names a YAML or JSON file") from error


@lru_cache(maxsize=64)
def _read(path: Path, changed: int) -> Mapping[str, TaskGoal]:
    file = read_yaml(path.read_text(errors="replace"))
    faults = file if isinstance(file, list) else []
    goals: Sequence[TaskGoal] = ()
    if isinstance(file, YamlFile):
        try:
            goals = TaskFile.model_validate(file.value).tasks
        except ValidationError as error:
            faults = [file.fault(_place(each["loc"]), each["msg"]) for each in error.errors()]
        faults = faults or list(_faults(file, goals, path.parent))
    if faults:
        raise BadSelection("\n".join(f"{path}:{fault}" for fault in sorted(faults)))
    return {goal.id: goal for goal in goals}


def _place(where: tuple[int | str, ...]) -> Where:
    return tuple(each for each in where if each not in ("str", "tuple[str, ...]"))


def _faults(file: YamlFile, goals: Sequence[TaskGoal], folder: Path) -> Iterator[FileFault]:
    if not goals:
        yield file.fault(("tasks",), "there are no tasks; write at least one")
    seen: set[str] = set()
    for number, goal in enumerate(goals):
        if goal.id in seen:
            yield file.fault(("tasks", number, "id"), f"{goal.id} stands twice; give each task an id of its own")
        seen.add(goal.id)
        judge = goal.judge or Judge(answer=None)
        if judge.python:
            try:
                judge_function(judge.python, folder)
            except BadSelection as error:
                yield file.fault(("tasks", number, "judge", "python"), str(error))
        for code in judge.assertions:
            try:
                ast.parse(code)
            except (SyntaxError, ValueError) as error:
                yield file.fault(("tasks", number, "judge", "assert"), f"not Python: {error}")


def judge_function(name: str, folder: Path) -> PythonJudge:
    """Return a judge's Python function. Raises BadSelection."""
    place, _, attribute = name.rpartition(":")
    if not place:
        raise BadSelection(f"{name} names no function; write FILE.py:function or package.module:function")
    try:
        module = load_module((folder / place).resolve()) if place.endswith(".py") else import_module(place)
    except (CannotLoad, ImportError) as error:
        raise BadSelection(str(error)) from error
    function = getattr(module, attribute, None)
    if not callable(function):
        raise BadSelection(f"{place} has no function {attribute}")
    return function  # type: ignore[no-any-return]


def call_with(function: Callable[..., Any], **values: object) -> Any:
    """Call a function with those of the values that it has parameters for."""
    parameters = inspect.signature(function).parameters.values()
    if any(each.kind is each.VAR_KEYWORD for each in parameters):
        return function(**values)
    return function(**{name: value for name, value in values.items() if name in {each.name for each in parameters}})


def tasks_of(goals: Mapping[str, TaskGoal], env: str, selection: Selection) -> list[Task]:
    """Return the tasks of a file's goals. Those that name no split belong to the selected one."""
    return [
        Task(
            id=goal.id,
            env=env,
            split=goal.split or selection.split or SPLITS[0],
            type=goal.type,
            goal=goal.goal,
            params=goal.params,
            seed=goal.seed,
        )
        for goal in goals.values()
    ]
