"""Judge a task of tools: by assertions about the state, an exact answer, or a Python function."""

import ast
import atexit
import math
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path

from pydantic import BaseModel, JsonValue

from planbook.envs.errors import EnvironmentBroken, raised_at
from planbook.envs.tools.tasks import Judge, assertion_line, call_with, judge_function
from planbook.envs.types import Task, Verdict
from planbook.sandbox import FaultKind, Sandbox, SandboxError, Session, parse_source


class Situation(BaseModel):
    """The input of a judge."""

    task: Task
    answered: bool
    answer: JsonValue
    file: Path
    """The task file. The paths of judges' Python files are relative to its folder."""


def judge_task(
    judge: Judge, case: Situation, state: object, tools: Mapping[str, Callable[..., object]], sandbox: Sandbox | None
) -> Verdict:
    """Return the verdict of a judge. Raises EnvironmentBroken if the judge fails.

    ``tools`` are the read-only ones. Assertions run in ``sandbox``, or in one that this process shares.
    """
    if judge.python:
        return _by_function(judge.python, case, state)
    if judge.assertions:
        return _by_assertions(judge.assertions, case, tools, sandbox or _shared_sandbox())
    solved = case.answered and same(case.answer, judge.answer)
    return Verdict(solved, float(solved))


def same(value: JsonValue, expected: JsonValue) -> bool:
    """Return whether two JSON values are equal. 1 equals 1.0, but not True; white space around strings is ignored."""
    if isinstance(value, bool) or isinstance(expected, bool):
        return value is expected
    if isinstance(value, list) and isinstance(expected, list):
        return len(value) == len(expected) and all(map(same, value, expected))
    if isinstance(value, dict) and isinstance(expected, dict):
        return value.keys() == expected.keys() and all(same(value[key], expected[key]) for key in value)
    if isinstance(value, str) and isinstance(expected, str):
        return value.strip() == expected.strip()
    return value == expected


def _by_function(name: str, case: Situation, state: object) -> Verdict:
    try:
        result = call_with(judge_function(name, case.file.parent), state=state, answer=case.answer, task=case.task)
    except Exception as error:
        reason = f"{type(error).__name__}: {error} ({raised_at(error)[0] or 'outside'})"
        raise EnvironmentBroken(f"{case.task.id}: the judge {name} failed: {reason}") from error
    if not isinstance(result, bool | int | float) or math.isnan(result):
        raise EnvironmentBroken(
            f"{case.task.id}: the judge {name} returned {str(result)[:80]!r}; return True, False or a share from 0 to 1"
        )
    score = min(max(float(result), 0.0), 1.0)
    return Verdict(score == 1.0, score)


def _by_assertions(
    code: tuple[str, ...], case: Situation, tools: Mapping[str, Callable[..., object]], sandbox: Sandbox
) -> Verdict:
    task = case.task.model_dump(mode="json", include={"id", "type", "goal", "params"})
    try:
        with sandbox.session(dict(tools), values={"answer": case.answer, "task": task}) as session:
            results = [_holds(session, assertion, case.task) for assertion in code]
    except SandboxError as error:
        raise EnvironmentBroken(f"{case.task.id}: its assertions cannot run: {error}") from error
    held = [result is True for result in results]
    faults = (_fault(case, number, error) for number, error in enumerate(results) if isinstance(error, str))
    return Verdict(all(held), sum(held) / len(held), next(faults, ""))


def _fault(case: Situation, number: int, error: str) -> str:
    place = f"{case.file.name}:{assertion_line(case.file, case.task.id, number)}"
    return f"{place}: the assertion raised {error}, and does not hold"


def _holds(session: Session, code: str, task: Task) -> bool | str:
    """Return whether one assertion holds: it must not raise, and a last statement that is an expression must be true.

    An error that is no AssertionError is returned as text; the assertion does not hold.
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
    """Return the sandbox for assertions that are judged outside an episode."""
    sandbox = Sandbox()
    atexit.register(sandbox.close)
    return sandbox
