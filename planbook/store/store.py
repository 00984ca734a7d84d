"""The store of a run: one append-only table of events, from which everything else is read.

Every event is committed before the next action, so a killed process loses nothing. The tables are in a SQLite file,
which several processes may write at the same time, or in a schema of a PostgreSQL database.
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

from sqlalchemy import Connection, Engine, create_engine, func, select
from sqlalchemy.exc import DBAPIError

from planbook.envs import missing_extra
from planbook.errors import BadRun
from planbook.planner import Body, EventKind
from planbook.store.tables import (
    AFTER,
    AFTER_SLASH,
    ALL,
    BELOW,
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
    pack,
    read_events,
    without_password,
)

if TYPE_CHECKING:
    from planbook.store.postgres import Postgres

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
            for _, event in read_events(connection, query, parameters):
                yield event

    def events_since(self, number: int) -> Iterator[tuple[int, Event]]:
        """Yield (row number, event) for all events after row ``number``, in order; 0 yields all events.

        A caller that always passes the last row number that it received misses no event, however many processes write.
        """
        last = self._database.last_settled_row(number)
        query = ALL.where(EVENT.c.id > number, EVENT.c.id <= last)
        with self._database.reading() as connection:
            yield from read_events(connection, query)

    @property
    def last_row(self) -> int:
        """The number of the last row; 0 if there is none."""
        return self._database.last_settled_row(0)

    def events_after(self, number: int, kind: EventKind) -> Iterator[tuple[int, Event]]:
        """Yield (row number, event) for the events of a kind after row ``number``.

        In PostgreSQL, this may miss an event that another process commits late.
        """
        with self._database.reading() as connection:
            yield from read_events(connection, AFTER, {"row": number, "of_kind": kind})

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


# SQLite


ADD_TEXT = "INSERT INTO text (hash, body) VALUES (?, ?) ON CONFLICT DO NOTHING"
ADD_EVENT = "INSERT INTO event (scope, kind, n, body, at) VALUES (?, ?, ?, ?, ?)"
LOCKS = "-lock"
"""Suffix of the lock file in the store's folder. Its bytes are locked, but never written."""
WRITING, FIRST_EPISODE = 0, 1
"""The byte that a writer locks, and the byte that is locked for the first episode."""
FLOCK = "hhqqi0q"
"""The layout of struct flock: kind, whence, start, length, process (0)."""


class Sqlite:
    """The file of a store, and its lock file.

    A writer locks a byte of the lock file, because the kernel wakes a waiting process as soon as the lock is free.
    SQLite itself would wait by sleeping for milliseconds.
    """

    def __init__(self, path: Path, *, to_write: bool) -> None:
        self._path, self._locks = path, path.with_name(f"{path.name}{LOCKS}")
        self._engine = _open_engine(path, to_write=to_write)
        self._thread_lock = threading.Lock()
        self._writer: sqlite3.Connection | None = None
        self._lock_file = -1
        self._episode_locks: set[int] = set()
        if to_write:
            self._lock_file = self._open_locks()
            try:
                with _locked(self._lock_file, WRITING):
                    self._writer = _open_writer(path)
                    METADATA.create_all(self._engine)
            except (sqlite3.DatabaseError, DBAPIError) as error:
                raise self._unusable(error) from error

    def add(self, rows: Sequence[EventRow], texts: Mapping[str, str]) -> None:
        """Write events, and texts that may exist already, in one transaction. Raises BadRun."""
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
        """Yield a connection to read with. Raises BadRun."""
        try:
            with self._engine.connect() as connection:
                yield connection
        except DBAPIError as error:
            raise self._unusable(error) from error

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Yield a connection in a transaction, which is committed when the block ends. Raises BadRun."""
        try:
            with self._thread_lock, _locked(self._lock_file, WRITING), self._engine.begin() as connection:
                yield connection
        except DBAPIError as error:
            raise self._cannot_write(error.orig or error) from error

    def last_settled_row(self, number: int) -> int:
        """Return the id of the last event. Only one process writes at a time, so all smaller ids are committed."""
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
        """Do nothing: the process that plays has locked the run's folder."""

    def is_claimed(self) -> bool:
        """Return False: the lock on the run's folder says whether the run is played."""
        return False

    def _open_locks(self) -> int:
        try:
            return os.open(self._locks, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise self._cannot_write(error) from error

    def close(self) -> None:
        """Close the files and release all locks; everything is already written."""
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

    The lock belongs to the open file, not to the process.
    """
    _lock(descriptor, byte, fcntl.F_OFD_SETLKW)
    try:
        yield
    finally:
        _lock(descriptor, byte, fcntl.F_OFD_SETLK, fcntl.F_UNLCK)


def _try_lock(descriptor: int, byte: int) -> bool:
    """Lock one byte if it is free. Returns True if it was."""
    try:
        _lock(descriptor, byte, fcntl.F_OFD_SETLK)
    except BlockingIOError:
        return False
    return True


def _lock(descriptor: int, byte: int, command: int, kind: int = fcntl.F_WRLCK) -> None:
    fcntl.fcntl(descriptor, command, struct.pack(FLOCK, kind, os.SEEK_SET, byte, 1, 0))


def _open_writer(path: Path) -> sqlite3.Connection:
    """Open a connection without SQLAlchemy, which would double the time that every action waits for its event."""
    connection = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    return connection


def _open_engine(path: Path, *, to_write: bool) -> Engine:
    """Return an engine for the file. An engine that only reads works even in a folder without write permission.

    In such a folder, SQLite can read the file only if it is declared ``immutable``. It then ignores the write-ahead
    log, so a file is declared immutable only if its log is empty or missing.
    """
    mode = "rwc" if to_write else "ro"
    log, index = (path.with_name(f"{path.name}{end}") for end in ("-wal", "-shm"))
    has_log = index.exists() or (log.exists() and log.stat().st_size > 0)
    immutable = "" if to_write or has_log or os.access(path.parent, os.W_OK) else "&immutable=1"
    url = f"sqlite:///file:{quote(str(path))}?mode={mode}{immutable}&uri=true"
    return create_engine(url, connect_args={"timeout": 30, "check_same_thread": False}, max_overflow=-1)
