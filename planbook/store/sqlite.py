"""The tables of a run in a SQLite file, with a lock file next to it."""

import fcntl
import os
import sqlite3
import struct
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, func, select
from sqlalchemy.event import listen
from sqlalchemy.exc import DBAPIError

from planbook.errors import BadRun
from planbook.store.rows import check_definitions
from planbook.store.tables import EVENT, METADATA, EventRow

ADD_TEXT = "INSERT INTO text (hash, body) VALUES (?, ?) ON CONFLICT DO NOTHING"
ADD_EVENT = "INSERT INTO event (scope, kind, n, body, at) VALUES (?, ?, ?, ?, ?)"
NO_SYNC = "PRAGMA synchronous=NORMAL"
"""Commits wait for the operating system, but not for the disk. Only a system crash or power failure can lose them."""
LOCK_SUFFIX = "-lock"
"""Suffix of the name of the lock file, which is next to the store's file. It is locked, but never written."""
WRITING, FIRST_EPISODE = 0, 1
"""Bytes of the lock file: the byte that a process locks to write, and the byte for the first episode."""
FLOCK = "hhqqi0q"
"""The layout of the C struct flock: kind, whence, start, length, process (0)."""


class Sqlite:
    """The SQLite file of a store, and a lock file next to it.

    To write, a process locks a byte of the lock file. If SQLite's own lock were used, a waiting process would sleep
    for some milliseconds between its attempts. With this lock, the kernel wakes it as soon as the lock is free.
    """

    def __init__(self, path: Path, *, to_write: bool) -> None:
        self._path, self._lock_path = path, path.with_name(f"{path.name}{LOCK_SUFFIX}")
        self._engine = _open_engine(path, to_write=to_write)
        self._thread_lock = threading.Lock()
        self._writer: sqlite3.Connection | None = None
        self._lock_descriptor = -1
        self._episode_locks: set[int] = set()
        with self.reading() as connection:
            check_definitions(connection, path)
        if to_write:
            self._lock_descriptor = self._open_lock_file()
            try:
                with _locked(self._lock_descriptor, WRITING):
                    self._writer = _open_writer(path)
                    METADATA.create_all(self._engine)
            except (sqlite3.DatabaseError, DBAPIError) as error:
                raise self._unusable(error) from error

    def add(self, rows: Sequence[EventRow], texts: Mapping[str, str]) -> None:
        """Write events and texts in one transaction. Texts that already exist are skipped. Raises BadRun on failure."""
        try:
            assert self._writer is not None
            with self._thread_lock, _locked(self._lock_descriptor, WRITING), self._writer as writer:
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
            with self._thread_lock, _locked(self._lock_descriptor, WRITING), self._engine.begin() as connection:
                yield connection
        except DBAPIError as error:
            raise self._cannot_write(error.orig or error) from error

    def last_settled_row(self, number: int) -> int:
        """Return the id of the last event. All smaller ids are committed, because only one process writes at a time."""
        with self.reading() as connection:
            return connection.execute(select(func.max(EVENT.c.id))).scalar_one() or 0

    @contextmanager
    def lock(self, index: int) -> Iterator[bool]:
        """Try to lock the episode with this index. Yield True if this succeeded.

        The lock file is opened anew for each lock, so that the lock also excludes other threads of this process.
        """
        descriptor = self._open_lock_file()
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
        """Return False, because the lock on the run's folder shows whether the run is claimed."""
        return False

    def _open_lock_file(self) -> int:
        try:
            return os.open(self._lock_path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise self._cannot_write(error) from error

    def close(self) -> None:
        """Close the files and release all locks. All events are already committed."""
        with self._thread_lock:
            if self._writer is not None:
                self._writer.close()
                os.close(self._lock_descriptor)
                self._writer, self._lock_descriptor = None, -1
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
    """Open a connection without SQLAlchemy, which would double the time that an action waits to be recorded."""
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
