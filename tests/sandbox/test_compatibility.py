"""Programs that plans plausibly contain do under the language layer what they do in plain Python."""

import pytest

from sandbox.policy import check
from tests.sandbox.plans import run_guarded, run_plain, snippets

PROGRAMS = list(snippets("compatibility"))


@pytest.mark.parametrize("source", PROGRAMS)
def test_same_as_plain_python(source: str) -> None:
    assert check(source) == []
    assert run_guarded(source).told == run_plain(source).told


@pytest.mark.parametrize("source", PROGRAMS)
def test_fails_on_the_same_line(source: str) -> None:
    assert _line(run_guarded(source).error) == _line(run_plain(source).error)


def test_there_are_enough_programs() -> None:
    assert len(PROGRAMS) >= 120


def _line(error: BaseException | None) -> int | None:
    """The innermost line of the plan."""
    line, trace = None, error.__traceback__ if error else None
    while trace is not None:
        if trace.tb_frame.f_code.co_filename == "<plan>":
            line = trace.tb_lineno
        trace = trace.tb_next
    return line
