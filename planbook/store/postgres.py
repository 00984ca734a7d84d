"""A store in a schema of a PostgreSQL database, for runs that several machines play. Needs psycopg."""

import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from typing import Any

import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.errors import InsufficientPrivilege, UndefinedTable, UniqueViolation
from psycopg.sql import SQL, Composed, Identifier
from sqlalchemy import Connection, Engine, create_engine, func, select, text
from sqlalchemy.exc import DBAPIError

from planbook.errors import BadRun
from planbook.store.tables import EVENT, METADATA, EventRow, Schema, without_password

USUAL: Mapping[str, Any] = {
    "connect_timeout": 10,
    "keepalives_idle": 30,
    "tcp_user_timeout": 60_000,
    "application_name": "planbook",
}
"""Defaults of a connection: a server that cannot be reached any more is noticed within about a minute."""
HEARTBEAT = (
    b"SET tcp_keepalives_idle = 20",
    b"SET tcp_keepalives_interval = 10",
    b"SET tcp_keepalives_count = 3",
    b"SET tcp_user_timeout = 60000",
)
"""Within a minute the server notices that the machine of a worker cannot be reached any more; its leases end then."""
ENCODINGS = ("UTF8", "SQL_ASCII")
ADD = """
WITH texts AS (
    INSERT INTO {text} (hash, body) SELECT * FROM unnest(%s::text[], %s::text[]) ON CONFLICT DO NOTHING
)
INSERT INTO {event} (scope, kind, n, body, at)
SELECT scope, kind, n, body, at
FROM unnest(%s::text[], %s::text[], %s::int[], %s::text[], %s::float8[])
    WITH ORDINALITY AS new (scope, kind, n, body, at, place)
ORDER BY place
"""
"""One statement is one transaction and one way to the server and back."""
ADD_ONCE = f"{ADD} ON CONFLICT DO NOTHING"
NUMBER = "((SELECT oid::bigint << 32 FROM pg_namespace WHERE nspname = %s) | %s)"
"""The advisory lock, among those of the whole database, for a number of one run."""
TRY_LOCK, UNLOCK = f"SELECT pg_try_advisory_lock({NUMBER})", f"SELECT pg_advisory_unlock({NUMBER})"
PLAYING, FIRST_HELD = 0, 1
"""The numbers of the lock on playing the run, and of the first lock on an episode."""
IS_LOCKED = f"""
SELECT EXISTS (
    SELECT FROM pg_locks
    WHERE locktype = 'advisory' AND granted AND objsubid = 1 AND objid = {PLAYING}
    AND classid = (SELECT oid FROM pg_namespace WHERE nspname = :schema)
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
)
"""
"""The server shows the two halves of such a number apart."""
WAIT_SECONDS = 0.05
"""Seconds between two attempts to claim a run."""
PATIENCE_SECONDS = 2
"""Seconds that the server may take to notice that the process that played the run is dead."""


def begin_schema(place: Schema) -> None:
    """Create the schema and its empty tables. Raises BadRun."""
    with closing(_connect(place)) as connection:
        encoding = connection.info.parameter_status("server_encoding")
        if encoding not in ENCODINGS:
            raise BadRun(f"{place}: the database is in {encoding}; make one with: createdb --encoding UTF8 NAME")
        try:
            connection.execute(SQL("CREATE SCHEMA {}").format(Identifier(place.schema)))
        except InsufficientPrivilege as error:
            info = connection.info
            raise BadRun(
                f"{place} cannot hold a run: {_first_line(error)}; let its owner say: "
                f'GRANT CREATE ON DATABASE "{info.dbname}" TO "{info.user}"'
            ) from error
        except psycopg.Error as error:
            raise _not_made(place, error) from error
    engine = _to_read(place)
    try:
        METADATA.create_all(engine)
    except DBAPIError as error:
        raise _not_made(place, error.orig or error) from error
    finally:
        engine.dispose()


def _not_made(place: Schema, error: BaseException) -> BadRun:
    return BadRun(f"{place} could not be made: {_first_line(error)}; begin the run again when the database answers")


class Postgres:
    """The tables in a schema: one connection writes, one holds locks, others read."""

    def __init__(self, place: Schema, *, to_write: bool) -> None:
        self._place = place
        self._names = {name: Identifier(place.schema, name) for name in ("event", "text")}
        self._engine = _to_read(place)
        self._lost = ""
        with self.reading() as connection:
            connection.execute(select(EVENT.c.id).limit(1))
        if to_write:
            with self.writing() as connection:
                METADATA.create_all(connection)  # a run of an older planbook has no ledger
        self._writer = _connect(place) if to_write else None
        self._session: psycopg.Connection[Any] | None = None
        self._held: set[int] = set()
        self._holding = threading.Lock()

    def add(self, rows: Sequence[EventRow], texts: Mapping[str, str], *, once: bool = False) -> None:
        """Write events, and texts that may be there already, in one transaction, and commit it. Raises BadRun."""
        in_order = sorted(texts.items())  # of two that write the same texts neither waits for the other for ever
        columns = [[each[0] for each in in_order], [each[1] for each in in_order], *map(list, zip(*rows, strict=True))]
        try:
            if self._writer is None:
                raise psycopg.OperationalError("it was opened to read, or is closed")
            self._writer.execute(self._adding(once), columns)
        except UniqueViolation as error:
            raise BadRun(
                f"{self._place}: an event was written twice: {_first_line(error)}; is the run open elsewhere?"
            ) from error
        except psycopg.Error as error:
            raise self._cannot("written", error) from error

    def _adding(self, once: bool) -> Composed:
        return SQL(ADD_ONCE if once else ADD).format(**self._names)

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Give a connection to read with. Raises BadRun."""
        try:
            with self._engine.connect() as connection:
                yield connection
        except DBAPIError as error:
            if isinstance(error.orig, UndefinedTable):
                raise BadRun(f"{self._place} holds no run: its tables are not there any more") from error
            raise self._cannot("read", error.orig or error) from error

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction, committed at its end. Raises BadRun."""
        try:
            with self._engine.begin() as connection:
                yield connection
        except DBAPIError as error:
            raise self._cannot("written", error.orig or error) from error

    def settled_after(self, number: int) -> int:
        """Return the last id, once all smaller ones are committed; waits for transactions that took one."""
        last = select(func.max(EVENT.c.id))
        with self.reading() as connection:
            seen: int = connection.execute(last).scalar_one() or 0
        if seen <= number:
            return seen
        with self.reading() as connection:  # who writes has the table locked from before it takes ids
            connection.execute(text(f'LOCK TABLE "{self._place.schema}".event IN SHARE MODE'))
            return int(connection.execute(last).scalar_one())

    @contextmanager
    def hold(self, index: int) -> Iterator[bool]:
        """Try an advisory lock. It belongs to the connection, so the server takes it back from a dead process."""
        if not self._try(FIRST_HELD + index):
            yield False
            return
        try:
            yield True
        finally:
            with self._holding:
                self._held.discard(FIRST_HELD + index)
                with suppress(psycopg.Error):  # a lost connection holds nothing
                    self._in_session(UNLOCK, FIRST_HELD + index)

    def claim(self) -> None:
        """Claim the run for this process until it ends. Raises BadRun if another one plays it."""
        deadline = time.monotonic() + PATIENCE_SECONDS
        while not self._try(PLAYING):
            if time.monotonic() < deadline:
                time.sleep(WAIT_SECONDS)
                continue
            raise BadRun(f"{self._place} is being played by another process; wait for it, or name another folder")

    def is_claimed(self) -> bool:
        """Return whether a session has the lock that ``claim`` takes, without taking it. Raises BadRun."""
        with self.reading() as connection:
            return bool(connection.execute(text(IS_LOCKED), {"schema": self._place.schema}).scalar_one())

    def _try(self, number: int) -> bool:
        """Take a lock if it is free. A session can take one twice, so those of this process are checked first."""
        try:
            with self._holding:
                if number in self._held or not self._in_session(TRY_LOCK, number):
                    return False
                self._held.add(number)
                return True
        except psycopg.Error as error:
            raise self._cannot("locked", error) from error

    def _in_session(self, query: str, number: int) -> bool:
        if self._session is None:
            self._session = _connect(self._place)
            for setting in HEARTBEAT:
                self._session.execute(setting)
        row = self._session.execute(query.encode(), (self._place.schema, number)).fetchone()
        return row is not None and bool(row[0])

    def close(self) -> None:
        """Close the connections; no lock is held any more."""
        if self._session is not None:
            with suppress(psycopg.Error):  # the server takes its time to notice that a connection is closed
                self._session.execute(b"SELECT pg_advisory_unlock_all()")
        for connection in (self._writer, self._session):
            if connection is not None:
                connection.close()
        self._writer = self._session = None
        self._engine.dispose()

    def _cannot(self, what: str, error: BaseException) -> BadRun:
        """Return the error to raise; after a lost connection it always names the first cause."""
        if not isinstance(error, psycopg.OperationalError | psycopg.InterfaceError):
            return BadRun(f"{self._place} cannot be {what}: {_first_line(error)}; nothing recorded so far is lost")
        self._lost = self._lost or _first_line(error)
        return BadRun(
            f"{self._place} cannot be {what}: {self._lost}; nothing recorded so far is lost: resume the run when the "
            "database can be reached"
        )


def _connect(place: Schema) -> psycopg.Connection[Any]:
    """Open a connection that commits each statement. Raises BadRun."""
    try:
        asked = {**USUAL, **conninfo_to_dict(place.url), "client_encoding": "utf8"}
        return psycopg.connect(**asked, autocommit=True)
    except psycopg.Error as error:
        raise BadRun(
            f"{without_password(place.url)} cannot be reached: {_first_line(error)}; {_remedy(error)}"
        ) from error


def _remedy(error: psycopg.Error) -> str:
    if error.pgconn is not None and error.pgconn.needs_password:
        return "it asks for a password: set PGPASSWORD, or write it into ~/.pgpass"
    if "password authentication failed" in str(error):
        return "the password is another one: look at the URL, PGPASSWORD and ~/.pgpass"
    if "does not exist" in str(error):
        return "make it with createdb or createuser, or name another one in the URL"
    return "see that the server runs, and lets this machine in"


def _to_read(place: Schema) -> Engine:
    return create_engine(
        "postgresql+psycopg://",
        creator=lambda: _transacting(place),
        execution_options={"schema_translate_map": {None: place.schema}},
        max_overflow=-1,
    )


def _transacting(place: Schema) -> psycopg.Connection[Any]:
    connection = _connect(place)
    connection.autocommit = False
    return connection


def _first_line(error: BaseException) -> str:
    return str(error).strip().partition("\n")[0]
