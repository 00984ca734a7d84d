"""Generated programs do under the language layer what they do in plain Python.

``PLANBOOK_PROGRAMS`` sets how many are tried.
"""

import os
import re
import warnings
from collections.abc import Callable

from hypothesis import HealthCheck, assume, given, settings

from sandbox.policy import check
from tests.sandbox.fuzz.bounded import TooLong, bounded
from tests.sandbox.plans import Ran, run_guarded, run_plain
from tests.sandbox.programs import GRAMMAR, SYMBOL, programs

COUNT = int(os.environ.get("PLANBOOK_PROGRAMS", "100"))


def told(ran: Ran) -> tuple[object, ...]:
    """Output, exception type and message, and line; addresses left out."""
    return *(re.sub(r"0x[0-9a-f]+", "0x", text) for text in ran.told), ran.line


def within_bounds(run: Callable[[str], Ran], source: str) -> tuple[object, ...] | None:
    """What came of the program; None where it is one that takes ever more time or memory, as of a list that grows in
    the loop over it.
    """
    ran: Ran | None = None
    with bounded():
        ran = run(source)
    return None if ran is None or isinstance(ran.error, TooLong | MemoryError) else told(ran)


@settings(max_examples=COUNT, deadline=None, suppress_health_check=list(HealthCheck))
@given(programs)
def test_generated_programs_run_as_in_plain_python(source: str) -> None:
    assume(_is_python(source))
    assert check(source) == []
    plain = within_bounds(run_plain, source)
    assume(plain is not None)
    assert within_bounds(run_guarded, source) == plain


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
