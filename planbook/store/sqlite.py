"""A store in a SQLite file, which several processes may write side by side."""

import fcntl
import os
import sqlite3
import struct
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from sqlalchemy import Connection, Engine, create_engine, func, select
from sqlalchemy.exc import DBAPIError

from planbook.errors import BadRun
from planbook.store.tables import EVENT, METADATA, EventRow

ADD_TEXT = "INSERT INTO text (hash, body) VALUES (?, ?) ON CONFLICT DO NOTHING"
ADD_EVENT = "INSERT INTO event (scope, kind, n, body, at) VALUES (?, ?, ?, ?, ?)"
ADD_ONCE = f"{ADD_EVENT} ON CONFLICT DO NOTHING"
LOCKS = "-lock"
"""Suffix of the lock file beside the store. Its bytes are locked, and none is ever written."""
WRITING, FIRST_HELD = 0, 1
"""The bytes of the lock on writing, and of the first lock on an episode."""
FLOCK = "hhqqi0q"
"""The layout of struct flock: kind, whence, start, length, process (0)."""


class Sqlite:
    """The file, and the lock file beside it.

    A writer locks a byte of the lock file: SQLite's own way to wait for another process is to sleep for
    milliseconds, whereas the kernel wakes who waits for a lock at once.
    """

    def __init__(self, path: Path, *, to_write: bool) -> None:
        self._path, self._locks = path, path.with_name(f"{path.name}{LOCKS}")
        self._engine = _to_read(path, to_write=to_write)
        self._turn = threading.Lock()
        self._writer: sqlite3.Connection | None = None
        self._lock_file = -1
        if to_write:
            self._lock_file = self._open_locks()
            with _locked(self._lock_file, WRITING):
                self._writer = _to_write(path)
                METADATA.create_all(self._engine)

    def add(self, rows: Sequence[EventRow], texts: Mapping[str, str], *, once: bool = False) -> None:
        """Write events, and texts that may be there already, in one transaction, and commit it. Raises BadRun."""
        try:
            with self._turn, _locked(self._lock_file, WRITING), self._transaction() as writer:
                if texts:
                    writer.executemany(ADD_TEXT, texts.items())
                writer.executemany(ADD_ONCE if once else ADD_EVENT, rows)
        except sqlite3.IntegrityError as error:
            raise BadRun(f"{self._path}: an event was written twice: {error}; is the run open elsewhere?") from error
        except sqlite3.DatabaseError as error:
            raise self._cannot_write(error) from error

    def _cannot_write(self, error: BaseException) -> BadRun:
        return BadRun(f"{self._path} cannot be written: {error}; nothing recorded so far is lost")

    @contextmanager
    def _transaction(self) -> Iterator[sqlite3.Connection]:
        if self._writer is None:
            raise sqlite3.OperationalError("it was opened to read, or is closed")
        with self._writer as writer:
            writer.execute("BEGIN IMMEDIATE")
            yield writer

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a connection to read with."""
        with self._engine.connect() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction, committed at its end. Raises BadRun."""
        try:
            with self._turn, _locked(self._lock_file, WRITING), self._engine.begin() as connection:
                yield connection
        except DBAPIError as error:
            raise self._cannot_write(error.orig or error) from error

    def settled_after(self, number: int) -> int:
        """Return the last id: as one process writes at a time, ids come in order."""
        with self.reading() as connection:
            return connection.execute(select(func.max(EVENT.c.id))).scalar_one() or 0

    @contextmanager
    def hold(self, index: int) -> Iterator[bool]:
        """Try to lock a byte of the lock file, by a descriptor of its own, which keeps out other threads as well."""
        descriptor = self._open_locks()
        try:
            yield _is_free(descriptor, FIRST_HELD + index)
        finally:
            os.close(descriptor)  # that gives the lock back

    def claim(self) -> None:
        """Do nothing: whoever plays has locked the folder of the file."""

    def is_claimed(self) -> bool:
        """Return False: the folder's lock says it."""
        return False

    def _open_locks(self) -> int:
        return os.open(self._locks, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)

    def close(self) -> None:
        """Close the files; everything is in them already."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
            os.close(self._lock_file)
        self._engine.dispose()


@contextmanager
def _locked(descriptor: int, byte: int) -> Iterator[None]:
    """Lock one byte, waiting for its owner. The lock belongs to the open file, not to the process."""
    _lock(descriptor, byte, fcntl.F_OFD_SETLKW)
    try:
        yield
    finally:
        _lock(descriptor, byte, fcntl.F_OFD_SETLK, fcntl.F_UNLCK)


def _is_free(descriptor: int, byte: int) -> bool:
    """Lock one byte, unless somebody has it. Returns whether it is ours now."""
    try:
        _lock(descriptor, byte, fcntl.F_OFD_SETLK)
    except BlockingIOError:
        return False
    return True


def _lock(descriptor: int, byte: int, how: int, kind: int = fcntl.F_WRLCK) -> None:
    fcntl.fcntl(descriptor, how, struct.pack(FLOCK, kind, os.SEEK_SET, byte, 1, 0))


def _to_write(path: Path) -> sqlite3.Connection:
    """Open a connection without SQLAlchemy, which takes as long again: every action waits for its event."""
    connection = sqlite3.connect(path, timeout=30, isolation_level=None, check_same_thread=False)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    return connection


def _to_read(path: Path, *, to_write: bool) -> Engine:
    """Open a read-only file in a way that works in a folder that cannot be written."""
    mode = "rwc" if to_write else "ro"
    fixed = "" if to_write or os.access(path.parent, os.W_OK) else "&immutable=1"
    url = f"sqlite:///file:{quote(str(path))}?mode={mode}{fixed}&uri=true"
    return create_engine(url, connect_args={"timeout": 30, "check_same_thread": False}, max_overflow=-1)
