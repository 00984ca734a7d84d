"""The store of a run: an append-only table of events, from which everything about the run is read.

Every event is committed before the next action, so a killed process loses nothing. The table, and a few auxiliary ones,
are in a SQLite file, or in a schema of a PostgreSQL database. Several processes may write at the same time.
"""

import fcntl
import os
import sqlite3
import struct
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from sqlalchemy import Connection, Engine, Select, create_engine, func, select
from sqlalchemy.event import listen
from sqlalchemy.exc import DBAPIError

from planbook.envs import missing_extra
from planbook.errors import BadRun
from planbook.planner import Body, EventKind
from planbook.store.rows import (
    AFTER_SLASH,
    SELECT_ALL,
    SELECT_IN_SCOPE,
    SELECT_KIND_AFTER_ROW,
    check_definitions,
    pack,
    read_events,
)
from planbook.store.tables import (
    EVENT,
    METADATA,
    RESTART,
    TEXT,
    Event,
    EventRow,
    Leases,
    Schema,
    StoreLedger,
    StoreLocation,
    without_password,
)

if TYPE_CHECKING:
    from planbook.store.postgres import Postgres

Watch = Callable[[EventKind, Body], None]
"""Called with each new event of an episode, after it is committed."""


class EpisodeJournal:
    """The journal of one episode, or of another scope (a path under which events are stored).

    Recorded events are read once, at the beginning. New events are committed immediately, then passed to ``watch``. The
    dict ``events`` holds both, by (scope, kind, number).
    """

    def __init__(self, store: "Store", path: str, watch: Watch | None = None) -> None:
        self._store, self._watch = store, watch
        self.events: dict[Any, Body] = {
            (row.scope, row.kind, row.n): row.body
            for row in store.events(path)
            if not row.scope.startswith(path + RESTART)
        }

    def get(self, scope: str, kind: EventKind, number: int) -> Body | None:
        """Return the body of a recorded event, or None."""
        return self.events.get((scope, kind, number))

    def put(self, scope: str, kind: EventKind, number: int, body: Body) -> None:
        """Add an event and commit it. Raises BadRun if the run was interrupted, or the event cannot be written."""
        if self._store.journals_closed:
            raise BadRun("the run was interrupted: its episodes are no longer recorded")
        self._store.put(scope, kind, number, body)
        self.events[scope, kind, number] = body
        if self._watch is not None:
            self._watch(kind, body)


class Store:
    """The events of one run. Several threads and processes may write; each event is its own transaction."""

    def __init__(self, location: StoreLocation, *, to_write: bool = True) -> None:
        self.location = location
        self.journals_closed = False
        """True once no more events of episodes are recorded, although threads may still be playing episodes."""
        self._database = _open(location, to_write=to_write)
        with self._database.reading() as connection:
            self._stored_texts = set(connection.execute(select(TEXT.c.hash)).scalars())

    def put(self, scope: str, kind: EventKind, n: int, body: Body) -> None:
        """Add one event and commit it. Raises BadRun if its scope, kind and number already exist, or writing fails."""
        self.put_all([(scope, kind, n, body)])

    def put_all(self, rows: list[tuple[str, EventKind, int, Body]]) -> None:
        """Add events in one transaction. Raises BadRun if one of them cannot be added; then none of them is."""
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

        By default, all events are yielded. ``scope`` selects the events of a scope and of all scopes below it. ``kind``
        selects the events of one or several kinds.
        """
        query = SELECT_ALL if scope is None else SELECT_IN_SCOPE
        if kind is not None:
            query = query.where(EVENT.c.kind.in_([kind] if isinstance(kind, str) else kind))
        parameters = {} if scope is None else {"scope": scope, "first": f"{scope}/", "end": f"{scope}{AFTER_SLASH}"}
        yield from (event for _, event in self._read(query, parameters))

    def events_since(self, number: int) -> Iterator[tuple[int, Event]]:
        """Yield (row number, event) for all events after row ``number``, in order. If it is 0, all events are yielded.

        No event is missed if each call passes the last row number that the previous call has yielded, even while
        several processes write events. (``events_of_kind_after`` is faster, but may miss an event.)
        """
        last = self._database.last_settled_row(number)
        yield from self._read(SELECT_ALL.where(EVENT.c.id > number, EVENT.c.id <= last), {})

    @property
    def last_row(self) -> int:
        """The number of the last row of the table of events, or 0 if there are no events."""
        return self._database.last_settled_row(0)

    def events_of_kind_after(self, number: int, kind: EventKind) -> Iterator[tuple[int, Event]]:
        """Yield (row number, event) for the events of a kind after row ``number``.

        In PostgreSQL, another process may commit an event after one with a larger row number was yielded here. A later
        call that passes the larger number misses this event.
        """
        yield from self._read(SELECT_KIND_AFTER_ROW, {"row": number, "of_kind": kind})

    def _read(self, query: Select[Any], parameters: Mapping[str, Any]) -> Iterator[tuple[int, Event]]:
        with self._database.reading() as connection:
            yield from read_events(connection, query, parameters, self.location)

    def lock(self, index: int) -> AbstractContextManager[bool]:
        """Lock the episode with this index until the block ends. Yield False if it is locked already.

        A worker holds this lock while it leases the episode. The lock is released if the worker's process dies, or if
        its machine does not answer for a minute.
        """
        return self._database.lock(index)

    def claim(self) -> None:
        """Claim the run until this process ends. Raises BadRun if another process has claimed it.

        If the store is a file, this method does nothing, because ``Run`` locks the run's folder.
        """
        self._database.claim()

    def is_claimed(self) -> bool:
        """Return whether a process on any machine has claimed the run; always False if the store is a file.

        Raises BadRun if the database cannot be read.
        """
        return self._database.is_claimed()

    @property
    def leases(self) -> Leases:
        """The leases on the run's episodes."""
        return Leases(self._database.reading, self._database.writing)

    @property
    def ledger(self) -> StoreLedger:
        """The amounts that all processes of the run have spent or reserved."""
        return StoreLedger(self._database.writing)

    def close(self) -> None:
        """Close the database. All events are already committed."""
        self.journals_closed = True
        self._database.close()


def create_schema(url: str) -> Schema:
    """Create a schema for a new run in a PostgreSQL database.

    Raises BadArgument if the URL is not that of a PostgreSQL database, BadRun if the schema cannot be created, or
    MissingRequirement if psycopg is not installed.
    """
    location = Schema.new(url)
    _postgres().create_schema(location)
    _user_urls[without_password(url)] = url
    return location


_user_urls: dict[str, str] = {}
"""The URLs that the user has given in this process. Maps each URL without its password to the full URL."""


def recorded_location(location: Schema, url: str | None) -> Schema:
    """Return a location from run.json, with the password that the user gave for the same database.

    The password is in ``url``, or in a URL that the user gave earlier in this process. A run may come from a stranger,
    so run.json cannot be trusted: if it names a server on another machine, this raises BadRun, unless the user has
    given a URL with this server or has named it in PGHOST. Raises MissingRequirement if psycopg is not installed.
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
    """Import ``postgres`` only when it is needed. Raises MissingRequirement if psycopg is not installed."""
    try:
        from planbook.store import postgres
    except ImportError as error:
        raise missing_extra("cluster", "a store in PostgreSQL") from error
    return postgres


# SQLite


ADD_TEXT = "INSERT INTO text (hash, body) VALUES (?, ?) ON CONFLICT DO NOTHING"
ADD_EVENT = "INSERT INTO event (scope, kind, n, body, at) VALUES (?, ?, ?, ?, ?)"
NO_SYNC = "PRAGMA synchronous=NORMAL"
"""Makes a commit wait for the operating system, but not for the disk. Only a power failure can then lose a commit."""
LOCK_SUFFIX = "-lock"
"""Suffix of the name of the lock file, which is next to the store's file. It is locked, but never written."""
WRITING, FIRST_EPISODE = 0, 1
"""Bytes of the lock file: the byte that a process locks to write, and the byte for the first episode."""
FLOCK = "hhqqi0q"
"""The layout of the C struct flock: kind, whence, start, length, process (0)."""


class Sqlite:
    """The SQLite file of a store, and a lock file next to it.

    A process that writes locks a byte of the lock file. If SQLite's own lock were used, a waiting process would sleep
    for some milliseconds between its attempts. With this lock, the kernel wakes it as soon as the lock is free.
    """

    def __init__(self, path: Path, *, to_write: bool) -> None:
        self._path, self._locks = path, path.with_name(f"{path.name}{LOCK_SUFFIX}")
        self._engine = _open_engine(path, to_write=to_write)
        self._thread_lock = threading.Lock()
        self._writer: sqlite3.Connection | None = None
        self._lock_file = -1
        self._episode_locks: set[int] = set()
        with self.reading() as connection:
            check_definitions(connection, path)
        if to_write:
            self._lock_file = self._open_locks()
            try:
                with _locked(self._lock_file, WRITING):
                    self._writer = _open_writer(path)
                    METADATA.create_all(self._engine)
            except (sqlite3.DatabaseError, DBAPIError) as error:
                raise self._unusable(error) from error

    def add(self, rows: Sequence[EventRow], texts: Mapping[str, str]) -> None:
        """Write events and texts in one transaction. Texts that already exist are skipped. Raises BadRun on failure."""
        try:
            assert self._writer is not None
            with self._thread_lock, _locked(self._lock_file, WRITING), self._writer as writer:
                writer.execute("BEGIN IMMEDIATE")
                writer.executemany(ADD_TEXT, texts.items())
                writer.executemany(ADD_EVENT, rows)
        except sqlite3.IntegrityError as error:
            raise BadRun(f"{self._path}: an event was written twice: {error}; is the run open elsewhere?") from error
        except sqlite3.DatabaseError as error:
            raise self._cannot_write(error) from error

    def _unusable(self, error: sqlite3.DatabaseError | DBAPIError) -> BadRun:
        cause = error.orig if isinstance(error, DBAPIError) else error
        return BadRun(f"{self._path} cannot be used as a run's store: {cause}")

    def _cannot_write(self, error: BaseException) -> BadRun:
        return BadRun(f"{self._path} cannot be written: {error}; nothing recorded so far is lost")

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection for reading. Raises BadRun if the file cannot be read."""
        try:
            with self._engine.connect() as connection:
                yield connection
        except DBAPIError as error:
            raise self._unusable(error) from error

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Yield a connection in a transaction, which is committed when the block ends. Raises BadRun on failure."""
        try:
            with self._thread_lock, _locked(self._lock_file, WRITING), self._engine.begin() as connection:
                yield connection
        except DBAPIError as error:
            raise self._cannot_write(error.orig or error) from error

    def last_settled_row(self, number: int) -> int:
        """Return the id of the last event. All smaller ids are committed, because only one process writes at a time."""
        with self.reading() as connection:
            return connection.execute(select(func.max(EVENT.c.id))).scalar_one() or 0

    @contextmanager
    def lock(self, index: int) -> Iterator[bool]:
        """Try to lock the episode's byte of the lock file. Each lock has a new descriptor, to exclude other threads."""
        descriptor = self._open_locks()
        self._episode_locks.add(descriptor)
        try:
            yield _try_lock(descriptor, FIRST_EPISODE + index)
        finally:
            with suppress(KeyError):  # if the store has been closed, so has the descriptor
                self._episode_locks.remove(descriptor)
                os.close(descriptor)  # releases the lock

    def claim(self) -> None:
        """Do nothing, because ``Run`` claims the run by locking its folder."""

    def is_claimed(self) -> bool:
        """Return False. Whether the run is claimed can be seen from the lock on its folder."""
        return False

    def _open_locks(self) -> int:
        try:
            return os.open(self._locks, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise self._cannot_write(error) from error

    def close(self) -> None:
        """Close the files and release all locks. All events are already committed."""
        with self._thread_lock:
            if self._writer is not None:
                self._writer.close()
                os.close(self._lock_file)
                self._writer, self._lock_file = None, -1
        while self._episode_locks:
            os.close(self._episode_locks.pop())
        self._engine.dispose()


@contextmanager
def _locked(descriptor: int, byte: int) -> Iterator[None]:
    """Wait for a lock on one byte, and hold it until the block ends.

    The lock belongs to the open file, so threads that opened the file separately exclude each other.
    """
    _lock(descriptor, byte, fcntl.F_OFD_SETLKW)
    try:
        yield
    finally:
        _lock(descriptor, byte, fcntl.F_OFD_SETLK, fcntl.F_UNLCK)


def _try_lock(descriptor: int, byte: int) -> bool:
    """Try to lock one byte. Return False if another file description has locked it."""
    try:
        _lock(descriptor, byte, fcntl.F_OFD_SETLK)
    except BlockingIOError:
        return False
    return True


def _lock(descriptor: int, byte: int, command: int, kind: int = fcntl.F_WRLCK) -> None:
    fcntl.fcntl(descriptor, command, struct.pack(FLOCK, kind, os.SEEK_SET, byte, 1, 0))


def _open_writer(path: Path) -> sqlite3.Connection:
    """Open a connection without SQLAlchemy, which would double the time for which each action waits for its event."""
    connection = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute(NO_SYNC)
    return connection


def _open_engine(path: Path, *, to_write: bool) -> Engine:
    """Return an engine for the file. An engine that only reads works even if the folder is not writable.

    In such a folder, SQLite can read a file only if the file is declared ``immutable``. Then it ignores the write-ahead
    log, so the file is declared immutable only if its log is empty or missing.
    """
    mode = "rwc" if to_write else "ro"
    log, index = (path.with_name(f"{path.name}{end}") for end in ("-wal", "-shm"))
    has_log = index.exists() or (log.exists() and log.stat().st_size > 0)
    immutable = "" if to_write or has_log or os.access(path.parent, os.W_OK) else "&immutable=1"
    url = f"sqlite:///file:{quote(str(path))}?mode={mode}{immutable}&uri=true"
    engine = create_engine(url, connect_args={"timeout": 30, "check_same_thread": False}, max_overflow=-1)
    listen(engine, "connect", lambda connection, _: connection.execute(NO_SYNC))
    return engine
