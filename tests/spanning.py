"""Read the spans that a planning method recorded in a journal: its parts, each with a beginning and an end."""

from typing import Any, NamedTuple

from planbook.planner import MemoryJournal
from planbook.planner.journal import RecordedSpan, spans_in


class Row(NamedTuple):
    """An event of a journal."""

    scope: str
    kind: str
    body: Any


def rows_of(journal: MemoryJournal) -> list[Row]:
    """Return all events, in order."""
    return [Row(scope, kind, body) for (scope, kind, _), body in journal.events.items()]


def spans_of(journal: MemoryJournal, name: str) -> list[RecordedSpan]:
    """Return the spans with this name that have ended, in the order in which they began."""
    return [span for span in spans_in(rows_of(journal)) if span.name == name and span.end is not None]


def span_data(journal: MemoryJournal, name: str) -> list[dict[str, Any]]:
    """Return the final data of the spans with this name that have ended, in the order in which they ended."""
    return [dict(span.data) for span in sorted(spans_of(journal, name), key=lambda span: span.end or 0)]
