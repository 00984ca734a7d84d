"""What Trac stores, as places and values, read from its database."""

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

FIELDS = "type component severity priority owner reporter cc version milestone status resolution summary keywords"
"""Of a ticket, beside its description."""
PREFERENCES = ("name", "email", "tz", "language", "dateinfo", "default_format")
TABLES = {
    "milestone": ("due", "completed", "description"),
    "component": ("owner", "description"),
    "version": ("time", "description"),
    "report": ("title", "description", "query"),
}
"""Tables with one row a thing, named by the first column, and what is told of each."""


def state_of(database: Path) -> dict[str, str]:
    """Place to value: ``ticket/12/status``, ``ticket/12/comment/3``, ``wiki/Roadmap``, ``milestone/0.5/due`` ...

    Empty values are left out; times are told as days.
    """
    with sqlite3.connect(f"file:{database}?mode=ro", uri=True, timeout=10) as connection:
        connection.execute("BEGIN")
        found = {place: value for read in _READERS for place, value in read(connection) if value}
    connection.close()
    return found


def _tickets(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    fields = (*FIELDS.split(), "description")
    for number, *values in connection.execute(f"SELECT id, {', '.join(fields)} FROM ticket"):
        yield from ((f"ticket/{number}/{field}", value or "") for field, value in zip(fields, values, strict=True))
    for number, name, value in connection.execute("SELECT ticket, name, value FROM ticket_custom"):
        yield f"ticket/{number}/{name}", value or ""


def _comments(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    comments = "SELECT ticket, oldvalue, newvalue FROM ticket_change WHERE field = 'comment'"
    for ticket, number, text in connection.execute(comments):
        yield f"ticket/{ticket}/comment/{number.rpartition('.')[2]}", text or ""


def _pages(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """The newest version of each page."""
    for name, text, _ in connection.execute("SELECT name, text, max(version) FROM wiki GROUP BY name"):
        yield f"wiki/{name}", text


def _choices(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """What can be chosen as priority, resolution and type, and where it stands in the list."""
    yield from connection.execute("SELECT 'choice/' || type || '/' || name, value FROM enum")


def _things(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    for table, columns in TABLES.items():
        key = "id" if table == "report" else "name"
        for name, *values in connection.execute(f"SELECT {key}, {', '.join(columns)} FROM {table}"):
            yield f"{table}/{name}", "there"
            for column, value in zip(columns, values, strict=True):
                yield f"{table}/{name}/{column}", _plain(value)


def _preferences(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    """What users set themselves; Trac also notes down what they last looked for."""
    preferences = "SELECT sid, name, value FROM session_attribute WHERE authenticated = 1"
    for user, name, value in connection.execute(preferences):
        if name in PREFERENCES:
            yield f"preference/{user}/{name}", value or ""


def _attachments(connection: sqlite3.Connection) -> Iterator[tuple[str, str]]:
    for kind, of, name in connection.execute("SELECT type, id, filename FROM attachment"):
        yield f"attachment/{kind}/{of}/{name}", "there"


def _plain(value: str | int | None) -> str:
    """Trac stores times in microseconds, 0 where there is none."""
    if isinstance(value, int):
        return datetime.fromtimestamp(value // 1_000_000, UTC).date().isoformat() if value else ""
    return value or ""


_READERS = (_tickets, _comments, _pages, _choices, _things, _preferences, _attachments)
