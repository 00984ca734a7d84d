"""Task files for environments made of tools, and the judges of their tasks. A file is written in YAML or JSON:

tasks:
  - id: move-report
    goal: Move report.txt into the folder done.
    judge: {assert: "'report.txt' in agent.ls('done')"}

A judge compares the answer, runs assertions about the state, or calls a Python function.
"""

import ast
import atexit
import inspect
import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, JsonValue, ValidationError, field_validator, model_validator

from planbook.envs.errors import BadSelection, EnvironmentBroken, error_location
from planbook.envs.registry import ModuleLoadError, import_error, load_module
from planbook.envs.types import Task, Verdict
from planbook.envs.yaml_files import FileFault, YamlFile, read_yaml
from planbook.sandbox import FaultKind, Sandbox, SandboxError, Session, did_you_mean, parse_source

SPLITS = ("all", "train", "test")
"""The splits. The first contains all tasks. A task that names no split is in no other.

There is one exception: if tasks name the split ``test`` and none names ``train``, all other tasks are in ``train``.
"""
MAX_FAULTS = 100
"""Maximum number of faults that an error lists."""
JUDGE_PARAMETERS = frozenset({"state", "answer", "task"})
"""The parameters that a judge's Python function may have."""
PythonJudge = Callable[..., bool | float]
FindFaults = Callable[[Iterable[str]], Iterable[tuple[int, str]]]
"""A function that returns (index, reason) for each reason why an assertion cannot be run."""


class _FileModel(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Judge(_FileModel):
    """The judge of a task. Exactly one of its fields is set."""

    answer: JsonValue = None
    """The value with which a plan must call ``agent.answer``."""
    assertions: tuple[str, ...] = Field(default=(), alias="assert")
    """Assertions in plan code, which may use the read-only tools, ``answer`` and ``task``.

    The score is the fraction of the assertions that hold.
    """
    python: str = ""
    """``FILE.py:function`` or ``package.module:function``. The function may take the parameters in JUDGE_PARAMETERS."""

    @model_validator(mode="after")
    def _check_one_judge(self) -> "Judge":
        if len(self.model_fields_set) != 1:
            raise ValueError("a judge is one of answer, assert and python; leave `judge` out if the task is not judged")
        return self

    @field_validator("assertions", mode="before")
    @classmethod
    def _as_tuple(cls, assertions: object) -> object:
        return (assertions,) if isinstance(assertions, str) else assertions


class TaskEntry(_FileModel):
    """One task in a task file."""

    id: str = Field(pattern=r"^[\w.-]+(/[\w.-]+)*$")
    goal: str = Field(min_length=1)
    type: str = Field(default="task", pattern=r"^[a-z][a-z0-9_]*$")
    split: Literal["train", "test"] | None = None
    params: dict[str, JsonValue] = {}
    seed: int = 0
    judge: Judge | None = None


class TaskFile(_FileModel):
    """The content of a task file."""

    tasks: tuple[TaskEntry, ...]


def read_task_file(path: Path, find_faults: FindFaults) -> Mapping[str, TaskEntry]:
    """Return the tasks of a file, keyed by id.

    Raises BadSelection if the file has faults. The message lists all faults of its format with their lines or, if the
    format is correct, all faults of ids and judges.
    """
    try:
        return _read(path, path.stat().st_mtime_ns, find_faults)
    except OSError as error:
        raise BadSelection(f"{path} cannot be read: {error.strerror}; tasks=FILE names a YAML or JSON file") from error


@lru_cache(maxsize=64)
def _read(path: Path, mtime_ns: int, find_faults: FindFaults) -> Mapping[str, TaskEntry]:
    file = read_yaml(path.read_text(errors="replace"))
    tasks, faults = ((), file) if isinstance(file, list) else _check_file(file, path.parent, find_faults)
    if faults:
        left_out = [f"{path}: and {len(faults) - MAX_FAULTS:,} more"] if len(faults) > MAX_FAULTS else []
        raise BadSelection("\n".join([*(f"{path}:{fault}" for fault in faults[:MAX_FAULTS]), *left_out]))
    if {task.split for task in tasks} == {"test", None}:  # without a split train, a run could learn from test tasks
        tasks = tuple(task if task.split else task.model_copy(update={"split": "train"}) for task in tasks)
    return {task.id: task for task in tasks}


def _check_file(file: YamlFile, folder: Path, find_faults: FindFaults) -> tuple[tuple[TaskEntry, ...], list[FileFault]]:
    """Return the tasks of a file, and the faults of the file that ``read_task_file`` reports."""
    try:
        tasks = TaskFile.model_validate(file.value).tasks
    except ValidationError as error:
        return (), sorted(file.fault(fault["loc"], _message(fault)) for fault in error.errors())
    return tasks, sorted(_task_faults(file, tasks, folder, find_faults))


def _message(fault: Any) -> str:
    """Return the message for a fault that pydantic found, in YAML's terms."""
    path = fault["loc"]
    if fault["type"] == "extra_forbidden":
        models: Mapping[int, type[BaseModel]] = {1: TaskFile, 3: TaskEntry}
        keys = [field.alias or name for name, field in models.get(len(path), Judge).model_fields.items()]
        return f"there is no such key{did_you_mean(str(path[-1]), keys, 'the keys are')}"
    kinds = {"tuple_type": "list", "dict_type": "mapping", "model_type": "mapping"}
    return f"this must be a {kinds[fault['type']]}" if fault["type"] in kinds else str(fault["msg"])


def _task_faults(
    file: YamlFile, tasks: tuple[TaskEntry, ...], folder: Path, find_faults: FindFaults
) -> Iterator[FileFault]:
    if not tasks:
        yield file.fault(("tasks",), "there are no tasks; write at least one")
    ids = set[str]()
    for number, task in enumerate(tasks):
        if task.id in ids:
            yield file.fault(("tasks", number, "id"), f"{task.id} is used twice; give every task a different id")
        ids.add(task.id)
        if task.judge:
            yield from _judge_faults(file, number, task.judge, folder, find_faults)


def _judge_faults(file: YamlFile, number: int, judge: Judge, folder: Path, find: FindFaults) -> Iterator[FileFault]:
    path = ("tasks", number, "judge")
    if "python" in judge.model_fields_set:
        try:
            judge_function(judge.python, folder)
        except BadSelection as error:
            yield file.fault((*path, "python"), str(error))
    if "assertions" in judge.model_fields_set and not judge.assertions:
        yield file.fault((*path, "assert"), "there are no assertions; write at least one")
    for index, fault in find(judge.assertions):
        yield file.fault((*path, "assert", index), fault)


def judge_function(name: str, folder: Path) -> PythonJudge:
    """Return the Python function of a judge. ``folder`` is the folder of the task file.

    Raises BadSelection if the function cannot be imported, or if one of its required parameters is not in
    JUDGE_PARAMETERS.
    """
    source, _, attribute = name.rpartition(":")
    if not source:
        raise BadSelection(f"{name} does not name a function; write FILE.py:function or package.module:function")
    try:
        module = load_module((folder / source).resolve()) if source.endswith(".py") else import_module(source)
    except ModuleLoadError as error:
        raise BadSelection(str(error)) from error
    except (Exception, SystemExit) as error:
        raise BadSelection(f"{source} cannot be imported: {import_error(error)}") from error
    function: object = getattr(module, attribute, None)
    if not callable(function):
        raise BadSelection(f"{source} has no function {attribute}")
    try:
        unknown = _required_parameters(function) - JUDGE_PARAMETERS
    except ValueError as error:
        raise BadSelection(f"{name} cannot judge: {error}") from error
    if unknown:
        raise BadSelection(
            f"{name} has the parameter {min(unknown)}; "
            f"a judge's function may have {', '.join(sorted(JUDGE_PARAMETERS))}"
        )
    return function


def judge_file(name: str, folder: Path) -> Path:
    """Return the file, or the folder of the package, in which ``judge_function`` finds a judge's function."""
    source = name.rpartition(":")[0]
    if source.endswith(".py"):
        return (folder / source).resolve()
    file = Path(import_module(source.partition(".")[0]).__file__ or "")
    return file.parent if file.name == "__init__.py" else file


def _required_parameters(function: Callable[..., Any]) -> set[str]:
    """Return the names of the parameters that have no default."""
    variable = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
    parameters = inspect.signature(function).parameters.values()
    return {p.name for p in parameters if p.default is p.empty and p.kind not in variable}


def call_with(function: Callable[..., Any], **values: object) -> Any:
    """Call a function and return its result. Values for which the function has no parameters are not passed."""
    parameters = inspect.signature(function).parameters.values()
    if any(parameter.kind is parameter.VAR_KEYWORD for parameter in parameters):
        return function(**values)
    names = {parameter.name for parameter in parameters}
    return function(**{name: value for name, value in values.items() if name in names})


class JudgeInput(NamedTuple):
    """The data that a judge receives about an episode."""

    task: Task
    answers: Sequence[JsonValue]
    """The values that plans passed to ``agent.answer``."""
    file: Path
    """The path of the task file. The paths of Python files in it are relative to its folder."""

    @property
    def answer(self) -> JsonValue:
        """The last answer, or None if there is no answer."""
        return self.answers[-1] if self.answers else None


def judge_task(
    judge: Judge, case: JudgeInput, state: object, tools: Mapping[str, Callable[..., object]], sandbox: Sandbox | None
) -> Verdict:
    """Return the verdict of a judge. Raises EnvironmentBroken if the judge fails.

    ``tools`` maps names to the read-only tools, which assertions may call. Assertions run in ``sandbox`` or, if it is
    None, in a sandbox that all judges of this process share.
    """
    if judge.python:
        return _judge_by_function(judge.python, case, state)
    if judge.assertions:
        return _judge_by_assertions(judge.assertions, case, tools, sandbox or _shared_sandbox())
    solved = bool(case.answers) and json_equal(case.answer, judge.answer)
    return Verdict(solved, float(solved))


def json_equal(value: JsonValue, expected: JsonValue) -> bool:
    """Return whether two JSON values are equal. White space around strings is ignored.

    The number 1 is equal to 1.0, but not to True.
    """
    if isinstance(value, bool) or isinstance(expected, bool):
        return value is expected
    if isinstance(value, list) and isinstance(expected, list):
        return len(value) == len(expected) and all(map(json_equal, value, expected))
    if isinstance(value, dict) and isinstance(expected, dict):
        return value.keys() == expected.keys() and all(json_equal(value[key], expected[key]) for key in value)
    if isinstance(value, str) and isinstance(expected, str):
        return value.strip() == expected.strip()
    return value == expected


def _judge_by_function(name: str, case: JudgeInput, state: object) -> Verdict:
    try:
        result = call_with(judge_function(name, case.file.parent), state=state, answer=case.answer, task=case.task)
    except Exception as error:
        reason = f"{type(error).__name__}: {error} ({error_location(error)[0] or 'outside your code'})"
        raise EnvironmentBroken(f"{case.task.id}: the judge {name} failed: {reason}") from error
    if not isinstance(result, bool | int | float) or math.isnan(result):
        raise EnvironmentBroken(
            f"{case.task.id}: the judge {name} returned {result!r:.80}; return True, False or a score from 0 to 1"
        )
    score = min(max(float(result), 0.0), 1.0)
    return Verdict(score == 1.0, score)


def _judge_by_assertions(
    code: tuple[str, ...], case: JudgeInput, tools: Mapping[str, Callable[..., object]], sandbox: Sandbox
) -> Verdict:
    task = case.task.model_dump(mode="json", include={"id", "type", "goal", "params"})
    try:
        with sandbox.session(dict(tools), values={"answer": case.answer, "task": task}) as session:
            results = [_run_assertion(session, assertion, case.task) for assertion in code]
    except SandboxError as error:
        raise EnvironmentBroken(f"{case.task.id}: its assertions cannot be run: {error}") from error
    successes = [result is True for result in results]
    faults = (_fault(case, number, error) for number, error in enumerate(results, start=1) if isinstance(error, str))
    return Verdict(all(successes), sum(successes) / len(successes), next(faults, ""))


def _fault(case: JudgeInput, number: int, error: str) -> str:
    return f"{case.file.name}: {case.task.id}: assertion {number} raised {error}, and does not hold"


def _run_assertion(session: Session, code: str, task: Task) -> bool | str:
    """Return whether an assertion holds, or the text of the error that it raised.

    An assertion holds if it raises no error. If its last statement is an expression, the expression must also have a
    true value. If the assertion raises an AssertionError, the result is False instead of a text.
    """
    result = session.run(code, "judge")
    if result.fault is None:
        return bool(result.value) or not isinstance(parse_source(code).body[-1], ast.Expr)
    if result.fault.kind is FaultKind.RAISED:
        error = f"{result.fault.type}: {result.fault.message}".partition("\n")[0]
        return False if result.fault.type == AssertionError.__name__ else error
    raise EnvironmentBroken(f"{task.id}: the assertion {code.strip()!r} cannot be run: {result.fault}")


@cache
def _shared_sandbox() -> Sandbox:
    """Return the sandbox in which assertions run outside of an episode."""
    sandbox = Sandbox()
    atexit.register(sandbox.close)
    return sandbox
