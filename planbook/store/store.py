"""The store of a run: one append-only table of events; everything else is read from it.

Every event is committed before the next action, so that a killed process loses nothing.
"""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from sqlite3 import DatabaseError as SqliteError
from types import ModuleType
from typing import Any

from sqlalchemy import Connection, Select, and_, bindparam, or_, select
from sqlalchemy.exc import DatabaseError

from planbook.envs import missing_extra
from planbook.errors import BadRun
from planbook.planner import Body, EventKind
from planbook.store.database import Database
from planbook.store.journal import EpisodeJournal, Watch
from planbook.store.ledger import StoreLedger
from planbook.store.packing import packed, texts_of, unpacked
from planbook.store.place import Place, Schema
from planbook.store.sqlite import Sqlite
from planbook.store.tables import EVENT, TEXT, Event, Row

AFTER_SLASH = chr(ord("/") + 1)
"""Ends the range of the scopes below one; a range can be looked up in the index, LIKE cannot."""
ROWS = 500
"""Events that are read at a time."""
ALL = select(EVENT).order_by(EVENT.c.id)
BELOW = ALL.where(
    or_(
        EVENT.c.scope == bindparam("scope"),
        and_(EVENT.c.scope >= bindparam("first"), EVENT.c.scope < bindparam("end")),
    )
)
"""A scope and those below it: made once, for every episode asks."""
NOWHERE: Mapping[str, str] = {}


class Store:
    """The events of one run. Several threads and processes may write; each event is its own transaction."""

    def __init__(self, place: Place, *, to_write: bool = True) -> None:
        self.place = place
        self._known: set[str] = set()
        self._once: set[tuple[str, str, int]] = set()
        self._once_lock = threading.Lock()
        try:
            self._database: Database = _open(place, to_write=to_write)
            with self._database.reading() as connection:
                self._known |= {row.hash for row in connection.execute(select(TEXT.c.hash))}
        except (DatabaseError, SqliteError) as error:
            said = error.orig if isinstance(error, DatabaseError) else error
            raise BadRun(f"{place} cannot be read as a run's store: {said}") from error

    def put(self, scope: str, kind: EventKind, n: int, body: Body) -> None:
        """Add one event and commit it. Raises BadRun if it is there already."""
        self.put_all([(scope, kind, n, body)])

    def put_once(self, scope: str, kind: EventKind, n: int, body: Callable[[], Body]) -> None:
        """Add an event unless it is there, whichever process wrote it; only then is its body asked for."""
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
        packed_rows = [Row(scope, kind, n, packed(body, texts), at) for scope, kind, n, body in rows]
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
        """Events in the order in which they were written: of a scope and those below it, of some kinds, or all."""
        query = ALL if scope is None else BELOW
        if kind is not None:
            query = query.where(EVENT.c.kind.in_([kind] if isinstance(kind, str) else kind))
        places = {} if scope is None else {"scope": scope, "first": f"{scope}/", "end": f"{scope}{AFTER_SLASH}"}
        with self._database.reading() as connection:
            for _, event in _read(connection, query, places):
                yield event

    def since(self, number: int) -> Iterator[tuple[int, Event]]:
        """The events after the row of that number (0: all), each with its own row's number, in order.

        Who asks again with the last number it saw misses none, whatever number of processes write.
        """
        last = self._database.settled_after(number)
        query = ALL.where(EVENT.c.id > number, EVENT.c.id <= last)
        with self._database.reading() as connection:
            yield from _read(connection, query)

    def hold(self, index: int) -> AbstractContextManager[None]:
        """Keep every other thread and process from holding that episode of the run; wait for who holds it.

        A process that dies holds nothing any more.
        """
        return self._database.hold(index)

    def claim(self) -> None:
        """Make the run this process's to play, until it ends. Raises BadRun if another one plays it.

        Of a run in a file it is the folder that is locked, see ``Run``.
        """
        self._database.claim()

    def is_claimed(self) -> bool:
        """Whether a process, on whatever machine, plays a run whose events are in a database. Raises BadRun."""
        return self._database.is_claimed()

    @property
    def ledger(self) -> StoreLedger:
        """What the processes that play the run have spent on model calls, and have reserved for them."""
        return StoreLedger(self._database.writing)

    def journal(self, path: str, watch: Watch | None = None) -> EpisodeJournal:
        """The journal of one episode: its events so far, and the way to add more, each told to ``watch``."""
        return EpisodeJournal(self, path, watch)

    def close(self) -> None:
        """Close what is open; everything is in the database already."""
        self._database.close()


def begin_schema(url: str) -> Schema:
    """Make a place for a new run in a PostgreSQL database. Raises BadArgument, BadRun, MissingRequirement."""
    place = Schema.named_now(url)
    _postgres().begin_schema(place)
    return place


def _open(place: Place, *, to_write: bool) -> Database:
    if isinstance(place, Path):
        return Sqlite(place, to_write=to_write)
    opened: Database = _postgres().Postgres(place, to_write=to_write)
    return opened


def _postgres() -> ModuleType:
    """Imported only where it is needed, for most machines have no psycopg. Raises MissingRequirement."""
    try:
        from planbook.store import postgres
    except ImportError as error:
        raise missing_extra("cluster", "a store in PostgreSQL") from error
    return postgres


def _read(
    connection: Connection, query: Select[Any], places: Mapping[str, str] = NOWHERE
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
