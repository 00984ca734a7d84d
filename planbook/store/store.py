"""The store of a run: one append-only table of events; everything else is read from it.

Every event is committed before the next action, so that a killed process loses nothing.
"""

import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from pathlib import Path
from sqlite3 import DatabaseError as SqliteError
from types import ModuleType
from typing import Any, Protocol

from sqlalchemy import Connection, Select, and_, bindparam, or_, select
from sqlalchemy.exc import DatabaseError

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
    Place,
    Schema,
    StoreLedger,
    packed,
    texts_of,
    unpacked,
)

RESTART = "/restart/"
"""Separates the scope of what was started over from the number of the restart."""


def started_over(path: str, number: int) -> str:
    """Return the scope of the restart with this number."""
    return f"{path}{RESTART}{number}"


def without_restart(scope: str) -> str:
    """Return a scope without the numbers of restarts."""
    return re.sub(rf"{RESTART}\d+", "", scope)


Watch = Callable[[EventKind, Body], None]
"""Called with each new event of an episode, after it is committed."""


class Events(Protocol):
    """The part of the store that a journal needs."""

    def put(self, scope: str, kind: EventKind, n: int, body: Body) -> None:
        """Add one event and commit it."""

    def events(self, scope: str) -> Iterator[Event]:
        """Return the events of a scope and those below it."""


class EpisodeJournal:
    """The journal of one episode: recorded events are read once, new ones are written through to the store."""

    def __init__(self, store: Events, path: str, watch: Watch | None = None) -> None:
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
        """Add an event; it is committed when this returns."""
        self._store.put(scope, kind, number, body)
        self._recorded[scope, kind, number] = body
        if self._watch is not None:
            self._watch(kind, body)


class StoreDatabase(Protocol):
    """What the store needs of a database. All threads may use it; other processes may have the same tables open."""

    def add(self, rows: Sequence[EventRow], texts: Mapping[str, str], *, once: bool = False) -> None:
        """Write events, and texts that may be there already, in one transaction, and commit it.

        ``once`` leaves out events that are there; else they raise BadRun, and nothing is written.
        """

    def reading(self) -> AbstractContextManager[Connection]:
        """Give a connection to read with."""

    def writing(self) -> AbstractContextManager[Connection]:
        """Give a transaction for anything but events; it is committed at its end. Raises BadRun."""

    def settled_after(self, number: int) -> int:
        """Return the last id; if it is past this number, no event up to it will turn up later."""

    def hold(self, index: int) -> AbstractContextManager[bool]:
        """Keep other threads and processes from holding the number until this one dies; False if one holds it."""

    def claim(self) -> None:
        """Claim the run for this process until it ends. Raises BadRun if another one plays it."""

    def is_claimed(self) -> bool:
        """Return whether the database knows a process that plays the run."""

    def close(self) -> None:
        """Close all connections."""


AFTER_SLASH = chr(ord("/") + 1)
"""The end of the range of scopes below one; a range uses the index, LIKE does not."""
ROWS = 500
"""Number of events that are read at a time."""
ALL = select(EVENT).order_by(EVENT.c.id)
BELOW = ALL.where(
    or_(
        EVENT.c.scope == bindparam("scope"),
        and_(EVENT.c.scope >= bindparam("first"), EVENT.c.scope < bindparam("end")),
    )
)
"""Selects a scope and those below it; compiled once, as every episode uses it."""
AFTER = ALL.where(EVENT.c.id > bindparam("row"), EVENT.c.kind == bindparam("of_kind"))
NOWHERE: Mapping[str, Any] = {}


class Store:
    """The events of one run. Several threads and processes may write; each event is its own transaction."""

    def __init__(self, place: Place, *, to_write: bool = True) -> None:
        self.place = place
        self._known: set[str] = set()
        self._once: set[tuple[str, str, int]] = set()
        self._once_lock = threading.Lock()
        try:
            self._database: StoreDatabase = _open(place, to_write=to_write)
            with self._database.reading() as connection:
                self._known |= {row.hash for row in connection.execute(select(TEXT.c.hash))}
        except (DatabaseError, SqliteError) as error:
            said = error.orig if isinstance(error, DatabaseError) else error
            raise BadRun(f"{place} cannot be used as a run's store: {said}") from error

    def put(self, scope: str, kind: EventKind, n: int, body: Body) -> None:
        """Add one event and commit it. Raises BadRun if it is there already."""
        self.put_all([(scope, kind, n, body)])

    def put_once(self, scope: str, kind: EventKind, n: int, body: Callable[[], Body]) -> None:
        """Add an event unless any process has added it; ``body`` is called only then."""
        with self._once_lock:
            if (scope, kind, n) not in self._once:
                if not self._holds(scope, kind, n):
                    self._add([(scope, kind, n, body())], once=True)
                self._once.add((scope, kind, n))

    def put_all(self, rows: list[tuple[str, EventKind, int, Body]]) -> None:
        """Add events in one transaction: all of them or none."""
        if rows:
            self._add(rows, once=False)

    def _add(self, rows: list[tuple[str, EventKind, int, Body]], *, once: bool) -> None:
        at = time.time()
        texts: dict[str, str] = {}
        packed_rows = [EventRow(scope, kind, n, packed(body, texts), at) for scope, kind, n, body in rows]
        new = {digest: text for digest, text in texts.items() if digest not in self._known}
        self._database.add(packed_rows, new, once=once)
        self._known |= new.keys()

    def _holds(self, scope: str, kind: EventKind, n: int) -> bool:
        query = select(EVENT.c.id).where(EVENT.c.scope == scope, EVENT.c.kind == kind, EVENT.c.n == n)
        with self._database.reading() as connection:
            return connection.execute(query).first() is not None

    def events(
        self, scope: str | None = None, kind: EventKind | tuple[EventKind, ...] | None = None
    ) -> Iterator[Event]:
        """Yield events in the order in which they were written: of a scope and those below, of some kinds, or all."""
        query = ALL if scope is None else BELOW
        if kind is not None:
            query = query.where(EVENT.c.kind.in_([kind] if isinstance(kind, str) else kind))
        places = {} if scope is None else {"scope": scope, "first": f"{scope}/", "end": f"{scope}{AFTER_SLASH}"}
        with self._database.reading() as connection:
            for _, event in _read(connection, query, places):
                yield event

    def since(self, number: int) -> Iterator[tuple[int, Event]]:
        """Yield the events after a row, in order, each with the number of its own row; 0 is before all.

        Who asks again with the last number it saw misses none, whatever number of processes write.
        """
        last = self._database.settled_after(number)
        query = ALL.where(EVENT.c.id > number, EVENT.c.id <= last)
        with self._database.reading() as connection:
            yield from _read(connection, query)

    @property
    def last_row(self) -> int:
        """Return the number of the last row; 0 where there is none."""
        return self._database.settled_after(0)

    def after(self, number: int, kind: EventKind) -> Iterator[tuple[int, Event]]:
        """Yield the events of a kind after a row, each with the number of its own row.

        In PostgreSQL, an event that another process commits late may be missed: this does not wait for it.
        """
        with self._database.reading() as connection:
            yield from _read(connection, AFTER, {"row": number, "of_kind": kind})

    def count(self, scope: str) -> int:
        """Return the number of events of a scope and those below it."""
        return sum(1 for _ in self.events(scope))

    def hold(self, index: int) -> AbstractContextManager[bool]:
        """Keep every other thread and process from holding that episode of the run. False where somebody holds it.

        This is the lock of a lease. A process that dies, or a machine that is not heard of for a minute, holds nothing
        any more.
        """
        return self._database.hold(index)

    def claim(self) -> None:
        """Claim the run for this process until it ends. Raises BadRun if another one plays it.

        Of a run in a file it is the folder that is locked, see ``Run``.
        """
        self._database.claim()

    def is_claimed(self) -> bool:
        """Return whether a process on any machine plays a run in a database. Raises BadRun."""
        return self._database.is_claimed()

    @property
    def leases(self) -> Leases:
        """Return the leases on the run's episodes."""
        return Leases(self._database.reading, self._database.writing)

    @property
    def ledger(self) -> StoreLedger:
        """Return the account of what all processes have spent and reserved."""
        return StoreLedger(self._database.writing)

    def journal(self, path: str, watch: Watch | None = None) -> EpisodeJournal:
        """Return the journal of one episode; ``watch`` is called with each new event."""
        return EpisodeJournal(self, path, watch)

    def close(self) -> None:
        """Close the database; everything is in it already."""
        self._database.close()


def begin_schema(url: str) -> Schema:
    """Create a place for a new run in a PostgreSQL database. Raises BadArgument, BadRun, MissingRequirement."""
    place = Schema.named_now(url)
    _postgres().begin_schema(place)
    return place


def _open(place: Place, *, to_write: bool) -> StoreDatabase:
    if isinstance(place, Path):
        return Sqlite(place, to_write=to_write)
    opened: StoreDatabase = _postgres().Postgres(place, to_write=to_write)
    return opened


def _postgres() -> ModuleType:
    """Import the module where it is needed: most machines have no psycopg. Raises MissingRequirement."""
    try:
        from planbook.store import postgres
    except ImportError as error:
        raise missing_extra("cluster", "a store in PostgreSQL") from error
    return postgres


def _read(
    connection: Connection, query: Select[Any], places: Mapping[str, Any] = NOWHERE
) -> Iterator[tuple[int, Event]]:
    texts: dict[str, str] = {}
    for rows in connection.execution_options(yield_per=ROWS).execute(query, places).partitions():
        bodies = [json.loads(row.body) for row in rows]
        missing = sorted({digest for body in bodies for digest in texts_of(body)} - texts.keys())
        for start in range(0, len(missing), ROWS):
            some = select(TEXT).where(TEXT.c.hash.in_(missing[start : start + ROWS]))
            texts.update({row.hash: row.body for row in connection.execute(some)})
        for row, body in zip(rows, bodies, strict=True):
            yield row.id, Event(row.scope, row.kind, row.n, unpacked(body, texts), row.at)
