"""Programs that plans plausibly contain do in the sandbox what they do in plain Python.

What can't be the same is listed in ``sandbox/DIFFERENCES.md``.
"""

import pytest

from sandbox import Sandbox
from sandbox.policy import check
from tests.sandbox.plans import Ran, run_guarded, run_plain, snippets

PROGRAMS = list(snippets("compatibility"))


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
