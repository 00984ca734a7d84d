"""The store of a run: one append-only table of events, from which everything else is read.

Every event is committed before the next action, so a killed process loses nothing.
"""

import json
import re
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Select, and_, bindparam, or_, select

from planbook.envs import missing_extra
from planbook.errors import BadRun
from planbook.planner import Body, EventKind
from planbook.store.sqlite import Sqlite
from planbook.store.tables import (
    EVENT,
    TEXT,
    Event,
    EventRow,
    Leases,
    Schema,
    StoreLedger,
    StoreLocation,
    pack,
    texts_of,
    unpack,
    without_password,
)

if TYPE_CHECKING:
    from planbook.store.postgres import Postgres

RESTART = "/restart/"
"""Separates the scope of an episode from the number of a restart. (A scope is a path that groups events.)"""


def restart_scope(path: str, number: int) -> str:
    """Return the scope of an episode's attempt after ``number`` restarts."""
    return f"{path}{RESTART}{number}"


def without_restart(scope: str) -> str:
    """Return a scope without the numbers of restarts."""
    return re.sub(rf"{RESTART}\d+", "", scope)


Watch = Callable[[EventKind, Body], None]
"""Called with each new event of an episode, after it is committed."""


class EpisodeJournal:
    """The journal of one episode. Recorded events are read once; new events are committed to the store immediately.

    ``watch`` is called with each new event.
    """

    def __init__(self, store: "Store", path: str, watch: Watch | None = None) -> None:
        self._store, self._watch = store, watch
        self._recorded: dict[tuple[str, str, int], Body] = {
            (row.scope, row.kind, row.n): row.body
            for row in store.events(path)
            if not row.scope.startswith(path + RESTART)
        }

    def get(self, scope: str, kind: EventKind, number: int) -> Body | None:
        """Return the body of a recorded event, or None."""
        return self._recorded.get((scope, kind, number))

    def put(self, scope: str, kind: EventKind, number: int, body: Body) -> None:
        """Add an event and commit it. Raises BadRun."""
        if self._store.journals_closed:
            raise BadRun("the run was interrupted: what happens now in its episodes is not recorded")
        self._store.put(scope, kind, number, body)
        self._recorded[scope, kind, number] = body
        if self._watch is not None:
            self._watch(kind, body)


AFTER_SLASH = chr(ord("/") + 1)
"""The character after "/" ends the range of scopes below a scope. A range uses the index, LIKE does not."""
ROWS = 500
"""Number of events that are read at a time."""
ALL = select(EVENT).order_by(EVENT.c.id)
BELOW = ALL.where(
    or_(
        EVENT.c.scope == bindparam("scope"), and_(EVENT.c.scope >= bindparam("first"), EVENT.c.scope < bindparam("end"))
    )
)
"""Selects the events of a scope and of all scopes below it. It is compiled once, because every episode uses it."""
AFTER = ALL.where(EVENT.c.id > bindparam("row"), EVENT.c.kind == bindparam("of_kind"))


class Store:
    """The events of one run. Several threads and processes may write; each event is its own transaction."""

    def __init__(self, location: StoreLocation, *, to_write: bool = True) -> None:
        self.location = location
        self.journals_closed = False
        """True once events of episodes are no longer recorded, although threads may still play episodes."""
        self._stored_texts: set[str] = set()
        self._database = _open(location, to_write=to_write)
        with self._database.reading() as connection:
            self._stored_texts |= {row.hash for row in connection.execute(select(TEXT.c.hash))}

    def put(self, scope: str, kind: EventKind, n: int, body: Body) -> None:
        """Add one event and commit it. Raises BadRun if it exists already, or cannot be written."""
        self.put_all([(scope, kind, n, body)])

    def put_all(self, rows: list[tuple[str, EventKind, int, Body]]) -> None:
        """Add events in one transaction: all of them or none."""
        if not rows:
            return
        at = time.time()
        texts: dict[str, str] = {}
        packed_rows = [EventRow(scope, kind, n, pack(body, texts), at) for scope, kind, n, body in rows]
        new_texts = {digest: text for digest, text in texts.items() if digest not in self._stored_texts}
        self._database.add(packed_rows, new_texts)
        self._stored_texts |= new_texts.keys()

    def events(
        self, scope: str | None = None, kind: EventKind | tuple[EventKind, ...] | None = None
    ) -> Iterator[Event]:
        """Yield events in the order in which they were written.

        ``scope`` selects the events of a scope and of all scopes below it. ``kind`` selects one or several kinds.
        """
        query = ALL if scope is None else BELOW
        if kind is not None:
            query = query.where(EVENT.c.kind.in_([kind] if isinstance(kind, str) else kind))
        parameters = {} if scope is None else {"scope": scope, "first": f"{scope}/", "end": f"{scope}{AFTER_SLASH}"}
        with self._database.reading() as connection:
            for _, event in _read(connection, query, parameters):
                yield event

    def events_since(self, number: int) -> Iterator[tuple[int, Event]]:
        """Yield (row number, event) for all events after row ``number``, in order; 0 yields all events.

        A caller that always passes the last row number that it received misses no event, however many processes write.
        """
        last = self._database.last_settled_row(number)
        query = ALL.where(EVENT.c.id > number, EVENT.c.id <= last)
        with self._database.reading() as connection:
            yield from _read(connection, query)

    @property
    def last_row(self) -> int:
        """The number of the last row; 0 if there is none."""
        return self._database.last_settled_row(0)

    def events_after(self, number: int, kind: EventKind) -> Iterator[tuple[int, Event]]:
        """Yield (row number, event) for the events of a kind after row ``number``.

        In PostgreSQL, this may miss an event that another process commits late.
        """
        with self._database.reading() as connection:
            yield from _read(connection, AFTER, {"row": number, "of_kind": kind})

    def lock(self, index: int) -> AbstractContextManager[bool]:
        """Lock an episode against other threads and processes. Yield False if one of them has locked it already.

        A worker that leases an episode holds this lock. It is released if the process dies, or if its machine does not
        answer for a minute.
        """
        return self._database.lock(index)

    def claim(self) -> None:
        """Claim the run until this process ends. Raises BadRun if another process plays it.

        If the store is a file, this does nothing, because ``Run`` locks the run's folder.
        """
        self._database.claim()

    def is_claimed(self) -> bool:
        """Return whether a process on any machine plays the run; always False if the store is a file. Raises BadRun."""
        return self._database.is_claimed()

    @property
    def leases(self) -> Leases:
        """The leases on the run's episodes."""
        return Leases(self._database.reading, self._database.writing)

    @property
    def ledger(self) -> StoreLedger:
        """The spending and reservations of all processes."""
        return StoreLedger(self._database.writing)

    def close(self) -> None:
        """Close the database; everything is already written."""
        self.journals_closed = True
        self._database.close()


def create_schema(url: str) -> Schema:
    """Create a schema for a new run in a PostgreSQL database. Raises BadArgument, BadRun, MissingRequirement."""
    location = Schema.new(url)
    _postgres().create_schema(location)
    _user_urls[without_password(url)] = url
    return location


_user_urls: dict[str, str] = {}
"""Maps URLs without the password to the full URLs that the user has given in this process."""


def recorded_location(location: Schema, url: str | None) -> Schema:
    """Return a location from run.json, with the password that the user gave for the same database.

    The password is in ``url``, or in a URL that was given earlier in this process. A stranger may have written
    run.json, so this raises BadRun if the server is on another machine, unless the user has named it by a URL or by
    PGHOST. Raises MissingRequirement if psycopg is not installed.
    """
    if url:
        _user_urls[without_password(url)] = url
    user_url = _user_urls.get(without_password(location.url))
    if user_url is None:
        _postgres().check_host(location)
    return replace(location, url=user_url or location.url)


def _open(location: StoreLocation, *, to_write: bool) -> "Sqlite | Postgres":
    if isinstance(location, Path):
        return Sqlite(location, to_write=to_write)
    database: Postgres = _postgres().Postgres(location, to_write=to_write)
    return database


def _postgres() -> Any:
    """Import the module only when it is needed: most machines have no psycopg. Raises MissingRequirement."""
    try:
        from planbook.store import postgres
    except ImportError as error:
        raise missing_extra("cluster", "a store in PostgreSQL") from error
    return postgres


def _read(
    connection: Connection, query: Select[Any], parameters: Mapping[str, Any] = {}
) -> Iterator[tuple[int, Event]]:
    texts: dict[str, str] = {}
    for rows in connection.execution_options(yield_per=ROWS).execute(query, parameters).partitions():
        bodies = [json.loads(row.body) for row in rows]
        missing = sorted({digest for body in bodies for digest in texts_of(body)} - texts.keys())
        for start in range(0, len(missing), ROWS):
            chunk = select(TEXT).where(TEXT.c.hash.in_(missing[start : start + ROWS]))
            texts.update({row.hash: row.body for row in connection.execute(chunk)})
        for row, body in zip(rows, bodies, strict=True):
            yield row.id, Event(row.scope, row.kind, row.n, unpack(body, texts), row.at)
