"""Programs that plans plausibly contain do in the sandbox what they do in plain Python.

What can't be the same is listed in ``sandbox/DIFFERENCES.md``.
"""

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from sandbox import Sandbox
from sandbox.policy import check
from sandbox.policy.rules import SYNTAX
from tests.sandbox.plans import Ran, run_guarded, run_plain, snippets

PROGRAMS = list(snippets("compatibility"))
RECORDINGS = Path(__file__).parents[2] / "manuals" / "recordings"


def told(ran: Ran) -> tuple[str, str, str, int | None]:
    """Output, exception type, message and the innermost line of the plan."""
    return *ran.told, ran.line


@pytest.mark.parametrize("source", PROGRAMS)
def test_same_as_plain_python(source: str) -> None:
    assert check(source) == []
    assert told(run_guarded(source)) == told(run_plain(source))


def test_same_through_a_real_worker(sandbox: Sandbox) -> None:
    different = []
    for program in PROGRAMS:
        source = str(program.values[0])
        with sandbox.session({}) as session:
            result = session.run(source)
        fault = result.fault
        found = (result.output, fault.type, fault.message, fault.line) if fault else (result.output, "", "", None)
        plain = run_plain(source)
        wanted = told(plain) if plain.error else (plain.output, "", "", None)
        if found != wanted:
            different.append((program.id, found, wanted))
    assert different == []


def test_there_are_enough_programs() -> None:
    assert len(PROGRAMS) >= 300


def test_no_plan_that_a_model_wrote_is_refused() -> None:
    """The code blocks of the recorded replies, as far as they are Python."""
    plans = {code for file in sorted(RECORDINGS.glob("*.jsonl")) for code in _code_blocks(file)}
    assert len(plans) > 200
    assert [(code, problem) for code in plans for problem in check(code) if problem.name != SYNTAX] == []


def _code_blocks(file: Path) -> Iterator[str]:
    for line in file.read_text(encoding="utf-8").splitlines():
        for text in _texts(json.loads(line)):
            yield from re.findall(r"```(?:python)?\n(.*?)```", text, re.DOTALL)


def _texts(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from _texts(each)
