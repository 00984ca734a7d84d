"""Rows of the table of results, made from endings."""

from collections.abc import Mapping, Sequence

from planbook.planner import Ending
from planbook.results.rows import NOT_PLAYED, Result
from planbook.runs import Entry


def rows(entries: Sequence[Entry], endings: Mapping[int, Ending]) -> list[Result]:
    """Return the rows of episodes that ended so; one without an ending was not run."""
    return [Result(entry, ending=endings.get(entry.index, NOT_PLAYED)) for entry in entries]
