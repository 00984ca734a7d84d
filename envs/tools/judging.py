"""Judge a task by assertions about the state, by its answer, or with a Python function."""

import ast
import atexit
import math
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from pydantic import JsonValue

from planbook.envs.errors import EnvironmentBroken, error_location
from planbook.envs.tools.tasks import Judge, assertion_line, call_with, judge_function
from planbook.envs.types import Task, Verdict
from planbook.sandbox import FaultKind, Sandbox, SandboxError, Session, parse_source


class JudgeInput(NamedTuple):
    """The data that a judge receives."""

    task: Task
    answers: Sequence[JsonValue]
    """The arguments of the plan's calls of ``agent.answer``."""
    file: Path
    """The task file. Paths of Python files in it are relative to its folder."""

    @property
    def answer(self) -> JsonValue:
        """The last answer, or None."""
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
    """Return whether two JSON values are equal. 1 equals 1.0 but not True. White space around strings is ignored."""
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
        reason = f"{type(error).__name__}: {error} ({error_location(error)[0] or 'outside'})"
        raise EnvironmentBroken(f"{case.task.id}: the judge {name} failed: {reason}") from error
    if not isinstance(result, bool | int | float) or math.isnan(result):
        raise EnvironmentBroken(
            f"{case.task.id}: the judge {name} returned {str(result)[:80]!r}; return True, False or a share from 0 to 1"
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
        raise EnvironmentBroken(f"{case.task.id}: its assertions cannot run: {error}") from error
    held = [result is True for result in results]
    faults = (_fault(case, number, error) for number, error in enumerate(results) if isinstance(error, str))
    return Verdict(all(held), sum(held) / len(held), next(faults, ""))


def _fault(case: JudgeInput, number: int, error: str) -> str:
    place = f"{case.file.name}:{assertion_line(case.file, case.task.id, number)}"
    return f"{place}: the assertion raised {error}, and does not hold"


def _run_assertion(session: Session, code: str, task: Task) -> bool | str:
    """Return whether an assertion holds, or the error that it raised. With an error it does not hold.

    An assertion holds if it raises nothing and, if its last statement is an expression, the value is true. For an
    AssertionError the result is False, and for other errors it is their text.
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
    """Return the sandbox for assertions that are judged outside of an episode."""
    sandbox = Sandbox()
    atexit.register(sandbox.close)
    return sandbox
