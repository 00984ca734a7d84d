"""The store of a run: one append-only table of events; everything else is read from it.

Every event is committed before the next action, so that a killed process loses nothing. Long strings are kept once, in
a table of texts, whatever number of events holds them.
"""

import hashlib
import json
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import quote

from pydantic import JsonValue
from sqlalchemy import (
    Column,
    Connection,
    Engine,
    Float,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    and_,
    create_engine,
    event,
    insert,
    or_,
    select,
)
from sqlalchemy.exc import DatabaseError, IntegrityError

from planbook.errors import BadRun
from planner import Body, EventKind

LONG_TEXT = 400
"""Strings from this length on go to the table of texts."""
TEXT_KEY = "$text"
ESCAPE = "\\"
"""Stands before a key of a body that begins as the store's own does."""
AFTER_SLASH = chr(ord("/") + 1)
"""Ends the range of the scopes below one; a range can be looked up in the index, LIKE cannot."""

METADATA = MetaData()
EVENT = Table(
    "event",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("scope", String(300), nullable=False),
    Column("kind", String(16), nullable=False),
    Column("n", Integer, nullable=False),
    Column("body", Text, nullable=False),
    Column("at", Float, nullable=False),
    UniqueConstraint("scope", "kind", "n"),
)
TEXT = Table("text", METADATA, Column("hash", String(64), primary_key=True), Column("body", Text, nullable=False))
ADD_EVENT = "INSERT INTO event (scope, kind, n, body, at) VALUES (:scope, :kind, :n, :body, :at)"
"""As text: SQLAlchemy's own statement takes twice as long, and every action waits for one."""
ADD_TEXT = insert(TEXT).prefix_with("OR IGNORE")


Watch = Callable[[EventKind, Body], None]
"""Told of each new event of an episode, after it is committed."""


class Event(NamedTuple):
    """One row; ``at`` is seconds since 1970."""

    scope: str
    kind: str
    n: int
    body: dict[str, JsonValue]
    at: float


class Store:
    """The events of one run, in a SQLite file. Several threads may write; each event is its own transaction."""

    def __init__(self, path: Path, *, to_write: bool = True) -> None:
        self.path = path
        self._engine = _sqlite(path, to_write=to_write)
        self._lock = threading.Lock()
        try:
            if to_write:
                METADATA.create_all(self._engine)
            with self._engine.connect() as connection:
                self._texts = {row.hash for row in connection.execute(select(TEXT.c.hash))}
        except DatabaseError as error:
            raise BadRun(f"{path} cannot be read as a run's store: {error.orig}") from error
        self._writer = self._engine.connect()
        self._once: set[tuple[str, str, int]] = set()
        self._once_lock = threading.Lock()

    def put(self, scope: str, kind: EventKind, n: int, body: Body) -> None:
        """Add one event and commit it. Raises BadRun if it is there already."""
        self.put_all([(scope, kind, n, body)])

    def put_once(self, scope: str, kind: EventKind, n: int, body: Callable[[], Body]) -> None:
        """Add an event unless it is there; only then is its body asked for."""
        with self._once_lock:
            if (scope, kind, n) not in self._once:
                if not any(row.n == n for row in self.events(scope, kind)):
                    self.put(scope, kind, n, body())
                self._once.add((scope, kind, n))

    def put_all(self, rows: list[tuple[str, EventKind, int, Body]]) -> None:
        """Add events in one transaction: all of them or none."""
        if not rows:
            return
        at = time.time()
        with self._lock:
            new: set[str] = set()
            self._add(rows, at, new)
            self._texts |= new

    def _add(self, rows: list[tuple[str, EventKind, int, Body]], at: float, new: set[str]) -> None:
        with self._writer.begin():
            try:
                values = [
                    {"scope": scope, "kind": kind, "n": n, "body": self._packed(body, new), "at": at}
                    for scope, kind, n, body in rows
                ]
                self._writer.exec_driver_sql(ADD_EVENT, values)
            except IntegrityError as error:
                raise BadRun(
                    f"{self.path}: an event was written twice: {error.orig}; is the run open elsewhere?"
                ) from error
            except DatabaseError as error:
                raise BadRun(f"{self.path} cannot be written: {error.orig}; nothing recorded so far is lost") from error

    def events(
        self, scope: str | None = None, kind: EventKind | tuple[EventKind, ...] | None = None
    ) -> Iterator[Event]:
        """Events in the order in which they were written: of a scope and those below it, of some kinds, or all."""
        query = select(EVENT).order_by(EVENT.c.id)
        if scope is not None:
            below = and_(EVENT.c.scope >= f"{scope}/", EVENT.c.scope < f"{scope}{AFTER_SLASH}")
            query = query.where(or_(EVENT.c.scope == scope, below))
        if kind is not None:
            query = query.where(EVENT.c.kind.in_([kind] if isinstance(kind, str) else kind))
        with self._engine.connect() as connection:
            texts: dict[str, str] = {}
            for row in connection.execute(query):
                yield Event(row.scope, row.kind, row.n, _unpacked(json.loads(row.body), connection, texts), row.at)

    def journal(self, path: str, watch: Watch | None = None) -> "EpisodeJournal":
        """The journal of one episode: its events so far, and the way to add more, each told to ``watch``."""
        return EpisodeJournal(self, path, watch)

    def hold(self, index: int) -> AbstractContextManager[None]:
        """Stands in until a store can be shared by processes."""
        return nullcontext()

    def close(self) -> None:
        """Close the file; everything is in it already."""
        self._writer.close()
        self._engine.dispose()

    def _packed(self, body: Body, new: set[str]) -> str:
        packed = self._pack(dict(body), new)
        text = json.dumps(packed, ensure_ascii=False)
        return text if _storable(text) else json.dumps(packed)

    def _pack(self, value: JsonValue, new: set[str]) -> JsonValue:
        if isinstance(value, str):
            return {TEXT_KEY: self._keep(value, new)} if len(value) >= LONG_TEXT and _storable(value) else value
        if isinstance(value, dict):
            return {_escaped(key): self._pack(item, new) for key, item in value.items()}
        if isinstance(value, list):
            return [self._pack(item, new) for item in value]
        return value

    def _keep(self, text: str, new: set[str]) -> str:
        """The text's hash; ``new`` takes it until the transaction that adds the text is through."""
        digest = hashlib.sha256(text.encode("utf-8")).hexdigest()
        if digest not in self._texts and digest not in new:
            self._writer.execute(ADD_TEXT, {"hash": digest, "body": text})
            new.add(digest)
        return digest


class EpisodeJournal:
    """One episode's view of the store: what stands there is read once, what is new is written through."""

    def __init__(self, store: Store, path: str, watch: Watch | None = None) -> None:
        self._store, self._watch = store, watch
        self._recorded: dict[tuple[str, str, int], Body] = {
            (row.scope, row.kind, row.n): row.body
            for row in store.events(path)
            if not row.scope.startswith(f"{path}/restart/")
        }

    def get(self, scope: str, kind: EventKind, number: int) -> Body | None:
        """The body of a recorded event, or None."""
        return self._recorded.get((scope, kind, number))

    def put(self, scope: str, kind: EventKind, number: int, body: Body) -> None:
        """Add an event; it is committed when this returns."""
        self._store.put(scope, kind, number, body)
        self._recorded[scope, kind, number] = body
        if self._watch is not None:
            self._watch(kind, body)


def _sqlite(path: Path, *, to_write: bool) -> Engine:
    """To read only, the file is opened so that a folder that cannot be written will do."""
    mode = "rwc" if to_write else "ro"
    fixed = "" if to_write or os.access(path.parent, os.W_OK) else "&immutable=1"
    url = f"sqlite:///file:{quote(str(path))}?mode={mode}{fixed}&uri=true"
    engine = create_engine(url, connect_args={"timeout": 30, "check_same_thread": False})

    @event.listens_for(engine, "connect")
    def _set_up(connection: Any, record: object) -> None:
        for pragma in ("journal_mode=WAL", "synchronous=NORMAL") if to_write else ():
            connection.execute(f"PRAGMA {pragma}")

    return engine


def _unpacked(value: Any, connection: Connection, texts: dict[str, str]) -> Any:
    if isinstance(value, list):
        return [_unpacked(item, connection, texts) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {TEXT_KEY}:
        digest = value[TEXT_KEY]
        if digest not in texts:
            texts[digest] = connection.execute(select(TEXT.c.body).where(TEXT.c.hash == digest)).scalar_one()
        return texts[digest]
    return {key.removeprefix(ESCAPE): _unpacked(item, connection, texts) for key, item in value.items()}


def _storable(text: str) -> bool:
    """Whether SQLite takes the text: half of a surrogate pair has no UTF-8, and is kept as an escape of JSON."""
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _escaped(key: str) -> str:
    """A key of a body that could be taken for the store's own."""
    return f"{ESCAPE}{key}" if key.startswith(("$", ESCAPE)) else key
