"""A store in a schema of a PostgreSQL database, for runs that are played on several machines. Needs psycopg."""

import logging
import os
import re
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.errors import UniqueViolation
from psycopg.sql import SQL, Identifier
from sqlalchemy import Connection, Engine, create_engine, func, select, text
from sqlalchemy.exc import DBAPIError

from planbook.errors import BadRun
from planbook.store.tables import EVENT, METADATA, EventRow, Schema, without_password

DEFAULTS: Mapping[str, Any] = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "keepalives_interval": 10,
    "tcp_user_timeout": 60_000,
    "application_name": "planbook",
}
"""Default connection parameters. With them, this process notices within about a minute if the server is lost."""
KEEPALIVE_SETTINGS = (
    b"SET tcp_keepalives_idle = 20",
    b"SET tcp_keepalives_interval = 10",
    b"SET tcp_keepalives_count = 3",
    b"SET tcp_user_timeout = 60000",
)
"""Settings that let the server notice within a minute if this machine is lost. It then releases our locks."""
LOCAL_HOST = re.compile(r"(localhost|::1|127(\.\d+){3}|/.*)?")
URL_PARAMETERS = frozenset({"host", "hostaddr", "port", "user", "password", "dbname", "sslmode", "connect_timeout"})
"""Parameters that a URL in run.json may have. Others could name files, or pass options to the server."""
ADD_EVENTS = """
WITH texts AS (
    INSERT INTO {text} (hash, body) SELECT * FROM unnest(%s::text[], %s::text[]) ON CONFLICT DO NOTHING
)
INSERT INTO {event} (scope, kind, n, body, at)
SELECT scope, kind, n, body, at
FROM unnest(%s::text[], %s::text[], %s::int[], %s::text[], %s::float8[])
    WITH ORDINALITY AS new (scope, kind, n, body, at, place)
ORDER BY place
"""
"""Adds events and texts in one statement, so it is one transaction, and one round trip to the server."""
LOCK_KEY = "((SELECT oid::bigint << 32 FROM pg_namespace WHERE nspname = %s) | %s)"
"""SQL for the key of an advisory lock, made from the run's schema and a number.

The schema is needed because all runs in a database share one space of keys."""
TRY_LOCK, UNLOCK = f"SELECT pg_try_advisory_lock({LOCK_KEY})", f"SELECT pg_advisory_unlock({LOCK_KEY})"
CLAIM, FIRST_EPISODE = 0, 1
"""Numbers of locks: the lock of the process that has claimed the run, and the lock of the first episode."""
IS_CLAIMED = f"""
SELECT EXISTS (
    SELECT FROM pg_locks
    WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND objid = {CLAIM}
    AND classid = (SELECT oid FROM pg_namespace WHERE nspname = :schema)
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
)
"""
"""Selects true if a process has claimed the run. The view pg_locks shows the two halves of a key in two columns."""
WAIT_SECONDS = 0.05
"""Seconds between two attempts to claim a run."""
CLAIM_SECONDS = 2
"""Seconds for which ``claim`` keeps trying. If the previous process died, the server may need this long to notice."""

logging.getLogger("sqlalchemy.pool").setLevel(logging.CRITICAL)  # it logs a traceback when a lost connection is closed


def create_schema(location: Schema) -> None:
    """Create the schema and its empty tables. Raises BadRun if the database cannot be reached or does not allow it."""
    try:
        with closing(_connect(location)) as connection:
            connection.execute(SQL("CREATE SCHEMA {}").format(Identifier(location.schema)))
    except psycopg.Error as error:
        raise _unusable(location, error) from error
    with closing(Postgres(location, to_write=True, create=True)):
        pass


class Postgres:
    """The tables in a schema.

    One connection writes events, another one holds locks, and a pool of connections is used for everything else.
    """

    def __init__(self, location: Schema, *, to_write: bool, create: bool = False) -> None:
        """Connect to the database. If ``create`` is true, make the tables first."""
        self._location = location
        self._names = {name: Identifier(location.schema, name) for name in ("event", "text")}
        self._engine = _open_engine(location)
        if create:
            with self.writing() as connection:
                METADATA.create_all(connection)
        with self.reading() as connection:
            connection.execute(select(EVENT.c.id).limit(1))
        self._writer = _connect(location) if to_write else None
        self._session: psycopg.Connection[Any] | None = None
        self._locked: set[int] = set()
        self._session_lock = threading.Lock()

    def add(self, rows: Sequence[EventRow], texts: Mapping[str, str]) -> None:
        """Write events and texts in one transaction. A text that already exists is skipped.

        Raises BadRun if an event already exists, or the database cannot be written.
        """
        hashes = sorted(texts)  # the same order in all processes, so that two writers of the same texts cannot deadlock
        columns = [hashes, [texts[digest] for digest in hashes], *map(list, zip(*rows, strict=True))]
        assert self._writer is not None
        try:
            self._writer.execute(SQL(ADD_EVENTS).format(**self._names), columns)
        except UniqueViolation as error:
            raise BadRun(
                f"{self._location}: an event was written twice: {_first_line(error)}; is the run open elsewhere?"
            ) from error
        except psycopg.Error as error:
            raise _unusable(self._location, error) from error

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection for reading. Raises BadRun if the database cannot be read."""
        try:
            with self._engine.connect() as connection:
                yield connection
        except DBAPIError as error:
            raise _unusable(self._location, error.orig or error) from error

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Yield a connection in a transaction, which is committed when the block ends.

        Raises BadRun if the database cannot be written.
        """
        try:
            with self._engine.begin() as connection:
                yield connection
        except DBAPIError as error:
            raise _unusable(self._location, error.orig or error) from error

    def last_settled_row(self, number: int) -> int:
        """Return the id of the last event. First wait until all events with smaller ids are committed.

        If there is no event after row ``number``, return without waiting.
        """
        last = select(func.max(EVENT.c.id))
        with self.reading() as connection:
            newest: int = connection.execute(last).scalar_one() or 0
        if newest <= number:
            return newest
        # every writer locks the table before it takes ids, so this lock is granted only after they have committed
        with self.reading() as connection:
            connection.execute(text(f'LOCK TABLE "{self._location.schema}".event IN SHARE MODE'))
            return int(connection.execute(last).scalar_one())

    @contextmanager
    def lock(self, index: int) -> Iterator[bool]:
        """Try to lock the episode with this index. Yield True if this succeeded.

        The lock is an advisory lock of the connection. If the process dies, the server releases it.
        """
        if not self._try_lock(FIRST_EPISODE + index):
            yield False
            return
        try:
            yield True
        finally:
            with self._session_lock:
                self._locked.discard(FIRST_EPISODE + index)
                with suppress(psycopg.Error):  # a lost connection has no locks
                    self._in_session(UNLOCK, FIRST_EPISODE + index)

    def claim(self) -> None:
        """Claim the run until this process ends. Raises BadRun if another process has claimed it."""
        deadline = time.monotonic() + CLAIM_SECONDS
        while not self._try_lock(CLAIM):
            if time.monotonic() < deadline:
                time.sleep(WAIT_SECONDS)
                continue
            raise BadRun(f"{self._location} is in use by another process; wait until it ends, or name another folder")

    def is_claimed(self) -> bool:
        """Return True if a process has claimed the run. This does not prevent another process from claiming it.

        Raises BadRun if the database cannot be read.
        """
        with self.reading() as connection:
            return bool(connection.execute(text(IS_CLAIMED), {"schema": self._location.schema}).scalar_one())

    def _try_lock(self, number: int) -> bool:
        """Take a lock, and return True, if it is free.

        The server lets a session take its own lock again, so ``_locked`` records the locks of this process.
        """
        try:
            with self._session_lock:
                if number in self._locked or not self._in_session(TRY_LOCK, number):
                    return False
                self._locked.add(number)
                return True
        except psycopg.Error as error:
            raise _unusable(self._location, error) from error

    def _in_session(self, query: str, number: int) -> bool:
        if self._session is None:
            self._session = _connect(self._location)
            for setting in KEEPALIVE_SETTINGS:
                self._session.execute(setting)
        row = self._session.execute(query.encode(), (self._location.schema, number)).fetchone()
        return row is not None and bool(row[0])

    def close(self) -> None:
        """Close the connections and release all locks."""
        if self._session is not None:
            with suppress(psycopg.Error):  # unlock now: the server is slow to notice that a connection is closed
                self._session.execute(b"SELECT pg_advisory_unlock_all()")
        for connection in (self._writer, self._session):
            if connection is not None:
                connection.close()
        self._writer = self._session = None
        self._engine.dispose()


def _connect(location: Schema, *, autocommit: bool = True) -> psycopg.Connection[Any]:
    """Open a connection, which commits each statement by default. Raises BadRun if the server cannot be reached."""
    try:
        parameters = {**DEFAULTS, **conninfo_to_dict(location.url), "client_encoding": "utf8"}
        return psycopg.connect(**parameters, autocommit=autocommit)
    except psycopg.Error as error:
        raise _unusable(location, error) from error


def check_host(location: Schema) -> None:
    """Raise BadRun unless the server in run.json is on this machine, or the user has named its host in PGHOST.

    Also raises BadRun if the URL is not valid, or has parameters other than URL_PARAMETERS.
    """
    try:
        parameters = conninfo_to_dict(location.url)
    except psycopg.Error as error:
        raise BadRun(f"{without_password(location.url)} is not a database URL: {_first_line(error)}") from error
    if others := sorted(parameters.keys() - URL_PARAMETERS):
        raise BadRun(
            f"{location}: the URL in run.json has the parameters {', '.join(others)}, which are accepted only "
            "in a URL that you give yourself"
        )
    values = (parameters.get(name) for name in ("host", "hostaddr"))
    hosts = {host for value in values if value for host in str(value).split(",")}
    trusted = os.environ.get("PGHOST", "").split(",")
    if foreign := sorted(host for host in hosts if host not in trusted and not LOCAL_HOST.fullmatch(host)):
        raise BadRun(
            f"{location}: run.json names a server on another machine, which would receive your user name and password; "
            f"if you trust it, set PGHOST={','.join(foreign)}"
        )


def _open_engine(location: Schema) -> Engine:
    return create_engine(
        "postgresql+psycopg://",
        creator=lambda: _connect(location, autocommit=False),
        execution_options={"schema_translate_map": {None: location.schema}},
        max_overflow=-1,
    )


def _unusable(location: Schema, error: BaseException) -> BadRun:
    return BadRun(f"{location} cannot be read or written: {_first_line(error)}; check server, database and PGPASSWORD")


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
