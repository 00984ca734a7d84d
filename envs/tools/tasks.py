"""The task files of tools, in YAML or JSON: goals, and how they are judged.

tasks:
  - id: move-report
    goal: Move report.txt into the folder done.
    judge: {assert: "'report.txt' in agent.ls('done')"}
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, model_validator

from planbook.envs.errors import BadSelection
from planbook.envs.registry import CannotLoad, import_error, load_module
from planbook.envs.types import Task
from planbook.envs.yaml_lines import FileFault, Where, YamlFile, read_yaml
from planbook.sandbox import did_you_mean

SPLITS = ("all", "train", "test")
"""The first has all tasks. Tasks without a split are in no other, or in ``train`` if only ``test`` is named."""
PythonJudge = Callable[..., bool | float]
FaultsOf = Callable[[Iterable[str]], Iterable[tuple[int, str]]]
"""Returns the faults of assertions: the index of each faulty one, and why it cannot be run."""


class _FileModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Judge(_FileModel):
    """The judge of a task: exactly one of these."""

    answer: JsonValue = None
    """The answer that ``agent.answer`` must get."""
    asserted: str | tuple[str, ...] = Field(default=(), alias="assert")
    """Plan code that may use the read-only tools, ``answer`` and ``task``; the score is the share that hold."""
    python: str = ""
    """``FILE.py:function`` or ``package.module:function``, which may take ``state``, ``answer`` and ``task``."""

    @model_validator(mode="after")
    def _check_one_judge(self) -> "Judge":
        if len(self.model_fields_set) != 1:
            raise ValueError("a judge is one of answer, assert and python; leave `judge` out if the task is not judged")
        return self

    @property
    def assertions(self) -> tuple[str, ...]:
        """The pieces of plan code that must hold."""
        return (self.asserted,) if isinstance(self.asserted, str) else self.asserted


class TaskGoal(_FileModel):
    """One task of the file."""

    id: str = Field(pattern=r"^[\w.-]+(/[\w.-]+)*$")
    goal: str = Field(min_length=1)
    type: str = Field(default="task", pattern=r"^[a-z][a-z0-9_]*$")
    split: Literal["train", "test"] | None = None
    params: dict[str, JsonValue] = {}
    seed: int = 0
    judge: Judge | None = None


class TaskFile(_FileModel):
    """The whole file."""

    tasks: tuple[TaskGoal, ...]


def read_goals(path: Path, faults_of: FaultsOf) -> Mapping[str, TaskGoal]:
    """Return the goals in a file, by id. Raises BadSelection.

    Its message lists all faults of form with their lines or, if there are none, those of ids and judges.
    """
    try:
        return _read(path, path.stat().st_mtime_ns, faults_of)
    except OSError as error:
        raise BadSelection(f"{path} cannot be read: {error.strerror}; tasks=FILE names a YAML or JSON file") from error


@lru_cache(maxsize=64)
def _read(path: Path, changed: int, faults_of: FaultsOf) -> Mapping[str, TaskGoal]:
    file = read_yaml(path.read_text(errors="replace"))
    goals, faults = ((), file) if isinstance(file, list) else _check_file(file, path.parent, faults_of)
    if faults:
        raise BadSelection("\n".join(f"{path}:{fault}" for fault in sorted(faults)))
    if {goal.split for goal in goals} == {"test", None}:  # what is learned must not come from the tasks of a test
        goals = tuple(goal if goal.split else goal.model_copy(update={"split": "train"}) for goal in goals)
    return {goal.id: goal for goal in goals}


def _check_file(file: YamlFile, folder: Path, faults_of: FaultsOf) -> tuple[tuple[TaskGoal, ...], list[FileFault]]:
    """Return the goals, and the faults: those of the form, or if there are none, those of ids and judges."""
    try:
        goals = TaskFile.model_validate(file.value).tasks
    except ValidationError as error:
        return (), [file.fault(_place(fault["loc"]), _message(fault)) for fault in error.errors()]
    faults = [] if goals else [file.fault(("tasks",), "there are no tasks; write at least one")]
    ids = set[str]()
    for number, goal in enumerate(goals):
        if goal.id in ids:
            fault = f"{goal.id} is used twice; give each task an id of its own"
            faults.append(file.fault(("tasks", number, "id"), fault))
        ids.add(goal.id)
        faults += _judge_faults(file, number, goal.judge, folder, faults_of) if goal.judge else ()
    return goals, faults


def _place(where: tuple[int | str, ...]) -> Where:
    return tuple(part for part in where if part not in ("str", "tuple[str, ...]"))


def _message(error: Any) -> str:
    match error["type"]:
        case "extra_forbidden":
            *inside, key = error["loc"]
            return f"there is no such key{did_you_mean(str(key), _keys(len(inside)))}"
        case "model_type":
            return f"write a mapping here; the keys are {', '.join(_keys(len(error['loc'])))}"
        case "dict_type":
            return "write a mapping here"
        case "tuple_type":
            return "write a list here"
        case "string_type":
            return "write text here"
    return str(error["msg"])


def _keys(depth: int) -> list[str]:
    """Return the keys of the whole file, of a task or of a judge, by the length of the place."""
    models: Mapping[int, type[BaseModel]] = {0: TaskFile, 2: TaskGoal}
    return [field.alias or name for name, field in models.get(depth, Judge).model_fields.items()]


def _judge_faults(file: YamlFile, number: int, judge: Judge, folder: Path, faults_of: FaultsOf) -> Iterator[FileFault]:
    place = ("tasks", number, "judge")
    if judge.python:
        try:
            judge_function(judge.python, folder)
        except BadSelection as error:
            yield file.fault((*place, "python"), str(error))
    for index, fault in faults_of(judge.assertions):
        yield file.fault((*place, "assert", *([] if isinstance(judge.asserted, str) else [index])), fault)


def assertion_line(path: Path, id: str, index: int) -> int:
    """Return the line of a task's assertion in a file that has been read before."""
    file = read_yaml(path.read_text(errors="replace"))
    if isinstance(file, list):
        return 1
    ids = [task["id"] for task in file.value["tasks"]]
    return file.line(("tasks", ids.index(id), "judge", "assert", index))


JUDGE_PARAMETERS = frozenset({"state", "answer", "task"})
"""The parameters that a judge's function may have."""


def judge_function(name: str, folder: Path) -> PythonJudge:
    """Return a judge's Python function. Raises BadSelection."""
    place, _, attribute = name.rpartition(":")
    if not place:
        raise BadSelection(f"{name} names no function; write FILE.py:function or package.module:function")
    try:
        module = load_module((folder / place).resolve()) if place.endswith(".py") else import_module(place)
    except CannotLoad as error:
        raise BadSelection(str(error)) from error
    except (Exception, SystemExit) as error:
        raise BadSelection(f"{place} cannot be imported: {import_error(error)}") from error
    function: object = getattr(module, attribute, None)
    if not callable(function):
        raise BadSelection(f"{place} has no function {attribute}")
    try:
        unknown = _required_parameters(function) - JUDGE_PARAMETERS
    except ValueError as error:
        raise BadSelection(f"{name} cannot judge: {error}") from error
    if unknown:
        raise BadSelection(
            f"{name} has the parameter {min(unknown)}; "
            f"the function of a judge may have {', '.join(sorted(JUDGE_PARAMETERS))}"
        )
    return function


def _required_parameters(function: Callable[..., Any]) -> set[str]:
    """Return the names of the parameters without defaults."""
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    return {p.name for p in parameters if p.default is p.empty and p.kind not in variable}


def call_with(function: Callable[..., Any], **values: object) -> Any:
    """Call a function with the values for which it has parameters, and return its result."""
    parameters = inspect.signature(function).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return function(**values)
    names = {parameter.name for parameter in parameters}
    return function(**{name: value for name, value in values.items() if name in names})


def tasks_of(goals: Mapping[str, TaskGoal], env: str) -> list[Task]:
    """Return the tasks of a file's goals."""
    return [
        Task(
            id=goal.id,
            env=env,
            split=goal.split or SPLITS[0],
            type=goal.type,
            goal=goal.goal,
            params=goal.params,
            seed=goal.seed,
        )
        for goal in goals.values()
    ]
