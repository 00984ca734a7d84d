"""Judge a task of tools: assertions over the state, an exact answer, a Python function, or nobody."""

import atexit
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from threading import Lock

from pydantic import BaseModel, JsonValue

from planbook.envs.errors import EnvironmentBroken, raised_at
from planbook.envs.tools.tasks import Judge, call_with, judge_function
from planbook.envs.types import Task, Verdict
from planbook.sandbox import FaultKind, Sandbox, SandboxError, Session

_ONE = Lock()


class Situation(BaseModel):
    """What a judge looks at."""

    task: Task
    answered: bool
    answer: JsonValue
    folder: Path
    """The folder of the file of tasks; a judge's own file is named from there."""


def judged(
    judge: Judge, now: Situation, state: object, looking: Mapping[str, Callable[..., object]], sandbox: Sandbox | None
) -> Verdict:
    """Return the verdict. Raises EnvironmentBroken if the judge fails.

    ``looking`` are the tools that only read. Assertions run in the given sandbox, or in one of this process.
    """
    if judge.python:
        return _by_function(judge.python, now, state)
    if judge.assertions:
        return _by_assertions(judge.assertions, now, looking, sandbox or _sandbox())
    solved = now.answered and same(now.answer, judge.answer)
    return Verdict(solved, float(solved))


def same(value: JsonValue, expected: JsonValue) -> bool:
    """Return whether two JSON values are equal. 1 equals 1.0, and True equals neither."""
    if isinstance(value, bool) or isinstance(expected, bool):
        return value is expected
    if isinstance(value, list) and isinstance(expected, list):
        return len(value) == len(expected) and all(map(same, value, expected))
    if isinstance(value, dict) and isinstance(expected, dict):
        return value.keys() == expected.keys() and all(same(value[key], expected[key]) for key in value)
    if isinstance(value, str) and isinstance(expected, str):
        return value.strip() == expected.strip()
    return value == expected


def _by_function(name: str, now: Situation, state: object) -> Verdict:
    try:
        found = call_with(judge_function(name, now.folder), state=state, answer=now.answer, task=now.task)
    except Exception as error:
        told = f"{type(error).__name__}: {error} ({raised_at(error)[0] or 'outside'})"
        raise EnvironmentBroken(f"{now.task.id}: the judge {name} failed: {told}") from error
    if not isinstance(found, bool | int | float):
        raise EnvironmentBroken(
            f"{now.task.id}: the judge {name} returned {str(found)[:80]!r}; return True, False or a share from 0 to 1"
        )
    score = min(max(float(found), 0.0), 1.0)
    return Verdict(score == 1.0, score)


def _by_assertions(
    code: tuple[str, ...], now: Situation, looking: Mapping[str, Callable[..., object]], sandbox: Sandbox
) -> Verdict:
    values = {"answer": now.answer, "task": now.task.model_dump(mode="json", include={"id", "type", "goal", "params"})}
    try:
        with sandbox.session(dict(looking), values=values) as session:
            held = [_holds(session, each, now.task) for each in code]
    except SandboxError as error:
        raise EnvironmentBroken(f"{now.task.id}: its assertions cannot run: {error}") from error
    return Verdict(all(held), sum(held) / len(held))


def _holds(session: Session, code: str, task: Task) -> bool:
    """Run one assertion: an expression that must be true, or statements that must not raise."""
    result = session.run(code, "judge")
    if result.fault is None:
        return bool(result.value) or not _is_expression(code)
    if result.fault.kind is FaultKind.RAISED:
        return False
    raise EnvironmentBroken(f"{task.id}: the assertion {code.strip()!r} cannot be run: {result.fault}")


def _is_expression(code: str) -> bool:
    try:
        compile(code.strip(), "judge", "eval")
    except SyntaxError:
        return False
    return True


def _sandbox() -> Sandbox:
    """Return the sandbox for assertions outside an episode."""
    with _ONE:
        return _made()


@cache
def _made() -> Sandbox:
    sandbox = Sandbox()
    atexit.register(sandbox.close)
    return sandbox
