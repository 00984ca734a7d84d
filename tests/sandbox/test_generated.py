"""Generated programs do in the sandbox what they do in plain Python.

``PLANBOOK_PROGRAMS`` sets how many are tried.
"""

import os
import re
import warnings
from dataclasses import replace

from hypothesis import HealthCheck, assume, given, settings

from planbook.sandbox import Limits, Sandbox
from planbook.sandbox.policy.compiler import find_problems
from tests.sandbox.plans import Ran, run_in, run_in_sandbox
from tests.sandbox.programs import GRAMMAR, SYMBOL, programs

COUNT = int(os.environ.get("PLANBOOK_PROGRAMS", "100"))


LIMITS = Limits(cpu_seconds=2, memory_mb=128)


def without_addresses(ran: Ran) -> Ran:
    """Return what ran, with the same text for every address."""
    output, message = (re.sub(r"0x[0-9a-f.]+", "0x", text) for text in (ran.output, ran.message))
    return replace(ran, output=output, message=message)


@settings(max_examples=COUNT, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs)
def test_generated_programs_run_as_in_plain_python(unguarded: Sandbox, source: str) -> None:
    """Plain Python runs in a worker too, for the same order of sets."""
    assume(_is_python(source))
    assert find_problems(source) == []
    plain = run_in(unguarded, source, LIMITS)
    assume(plain.type not in ("cpu", "memory"))
    assert without_addresses(run_in_sandbox(source, LIMITS)) == without_addresses(plain)


def test_the_grammar_holds_together() -> None:
    named = {name for productions in GRAMMAR.values() for each in productions for name in SYMBOL.findall(each)}
    assert named | {"stmt"} == GRAMMAR.keys()


def _is_python(source: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            compile(source, "<plan>", "exec")
        except SyntaxError:
            return False
    return True
