"""What a method recorded of its own, out of a journal."""

from typing import Any, NamedTuple

from planbook.planner import MemoryJournal
from planbook.planner.spans import RecordedSpan, spans_in


class Row(NamedTuple):
    """An event of a journal."""

    scope: str
    kind: str
    body: Any


def rows_of(journal: MemoryJournal) -> list[Row]:
    """All events, in order."""
    return [Row(scope, kind, body) for (scope, kind, _), body in journal.events.items()]


def spans_of(journal: MemoryJournal, name: str) -> list[RecordedSpan]:
    """The spans of a name that have ended, in the order in which they began."""
    return [span for span in spans_in(rows_of(journal)) if span.name == name and span.end is not None]


def held(journal: MemoryJournal, name: str) -> list[dict[str, Any]]:
    """What the spans of a name held in the end, in the order in which they ended."""
    return [dict(span.data) for span in sorted(spans_of(journal, name), key=lambda span: span.end or 0)]
