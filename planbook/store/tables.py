"""The tables of a run: events and their texts, the ledger of spending and reservations, and leases on episodes."""

import hashlib
import json
import re
import secrets
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, Self

from pydantic import JsonValue
from sqlalchemy import (
    Column,
    Connection,
    Float,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    bindparam,
    delete,
    insert,
    select,
    update,
)

from planbook.errors import BadArgument
from planbook.planner import Allows, Amount, Body

METADATA = MetaData()
SCOPE = Text().with_variant(Text(collation="C"), "postgresql")
"""Sorted by bytes, as in SQLite, so that the scopes below a scope are a range."""
EVENT = Table(
    "event",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("scope", SCOPE, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("n", Integer, nullable=False),
    Column("body", Text, nullable=False),
    Column("at", Float, nullable=False),
    UniqueConstraint("scope", "kind", "n"),
)
LEDGER = Table(
    "ledger",
    METADATA,
    Column("call", Text, primary_key=True),
    Column("calls", Integer, nullable=False),
    Column("tokens", Integer, nullable=False),
    Column("money", Float, nullable=False),
)
"""The amounts spent, and the amount reserved for each model call under way; see ``StoreLedger``."""
LEASE = Table(
    "lease",
    METADATA,
    Column("episode", Integer, primary_key=True, autoincrement=False),
    Column("worker", Text, nullable=False),
    Column("lost", Integer, nullable=False),
    Column("events", Integer, nullable=False),
)
"""The last worker that leased an episode, the number of workers lost on it in a row, and the highest number of events
that it had reached."""
TEXT = Table("text", METADATA, Column("hash", String(64), primary_key=True), Column("body", Text, nullable=False))


class Event(NamedTuple):
    """One event; ``at`` is seconds since 1970."""

    scope: str
    kind: str
    n: int
    body: dict[str, JsonValue]
    at: float


class EventRow(NamedTuple):
    """An event as a row, with its body packed into JSON."""

    scope: str
    kind: str
    n: int
    body: str
    at: float


LONG_TEXT = 400
"""Strings of at least this many characters go to the table of texts."""
TEXT_KEY = "$text"
ESCAPE = "\\"
"""Prefix added to a key in a body that looks like one of the store's own."""


def pack(body: Body, texts: dict[str, str]) -> str:
    """Return a body as JSON; its long strings are added to ``texts`` by their hashes."""
    value = _pack_value(dict(body), texts)
    text = json.dumps(value, ensure_ascii=False)
    return text if _storable(text) else json.dumps(value)


def texts_of(value: Any) -> Iterator[str]:
    """Yield the hashes of the long strings that a packed body refers to."""
    if isinstance(value, list):
        for item in value:
            yield from texts_of(item)
    elif isinstance(value, dict):
        if set(value) == {TEXT_KEY}:
            yield value[TEXT_KEY]
        else:
            yield from texts_of(list(value.values()))


def unpack(value: Any, texts: Mapping[str, str]) -> Any:
    """Return the original value, with its long strings."""
    if isinstance(value, list):
        return [unpack(item, texts) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {TEXT_KEY}:
        return texts[value[TEXT_KEY]]
    return {key.removeprefix(ESCAPE): unpack(item, texts) for key, item in value.items()}


def _pack_value(value: JsonValue, texts: dict[str, str]) -> JsonValue:
    if isinstance(value, str):
        if len(value) < LONG_TEXT or not _storable(value):
            return value
        digest = hashlib.sha256(value.encode("utf-8")).hexdigest()
        texts[digest] = value
        return {TEXT_KEY: digest}
    if isinstance(value, dict):
        return {_escape(key): _pack_value(item, texts) for key, item in value.items()}
    if isinstance(value, list):
        return [_pack_value(item, texts) for item in value]
    return value


def _storable(text: str) -> bool:
    """Return whether databases accept a text unchanged.

    Lone surrogates cannot be encoded in UTF-8, and PostgreSQL refuses NUL; both are stored as JSON escapes.
    """
    try:
        return b"\0" not in text.encode("utf-8")
    except UnicodeEncodeError:
        return False


def _escape(key: str) -> str:
    """Return a key, escaped if it looks like one of the store's own."""
    return f"{ESCAPE}{key}" if key.startswith(("$", ESCAPE)) else key


URL_STARTS = ("postgresql://", "postgres://")


@dataclass(frozen=True)
class Schema:
    """A schema in a PostgreSQL database with the tables of one run."""

    url: str = field(repr=False)
    """A URL for libpq; it may contain a password."""
    schema: str

    @classmethod
    def new(cls, url: str) -> Self:
        """Return a schema with a new name, to be created. Raises BadArgument unless the URL is for PostgreSQL."""
        if not url.startswith(URL_STARTS):
            option = f"--store {without_password(url)}"
            raise BadArgument(f"{option}: write postgresql://USER@HOST/DATABASE; without --store, a file is used")
        return cls(url, f"planbook_{datetime.now():%Y%m%d_%H%M%S}_{secrets.token_hex(3)}")

    def redacted(self) -> Self:
        """Return the schema without the password, for run.json."""
        return replace(self, url=without_password(self.url))

    def __str__(self) -> str:
        return f"{without_password(self.url)} (schema {self.schema})"


Place = Path | Schema


def without_password(url: str) -> str:
    """Return a URL without its password, which must be neither recorded nor shown."""
    bare = re.sub(r"^(\w+://[^/:@]*):[^/]*@", r"\1@", url)
    return re.sub(r"(?<=[?&])password=[^&]*(&|$)", "", bare).rstrip("?&")


Connect = Callable[[], AbstractContextManager[Connection]]
SPENT, ACTIONS = "spent", "actions"
"""The row with the amount spent, and the row with the number of actions (as ``calls``). Every other row is named after
a model call and has the amount reserved for it."""


class StoreLedger:
    """Implements ``planner.Ledger`` with a table. ``writing`` begins a transaction.

    Every transaction that reserves or settles first changes the row SPENT, which only one process can do at a time.
    """

    def __init__(self, writing: Connect) -> None:
        self._writing = writing

    def open(self, spent: Amount, actions: int) -> None:
        """Set the earlier spending and remove all reservations."""
        with self._writing() as connection:
            connection.execute(delete(LEDGER))
            _put(connection, SPENT, spent)
            _put(connection, ACTIONS, Amount(actions))

    def act(self, number: int) -> int:
        """Count actions. Returns the actions of all processes so far."""
        row = LEDGER.c.call == ACTIONS
        with self._writing() as connection:
            connection.execute(update(LEDGER).where(row).values(calls=LEDGER.c.calls + number))
            return int(connection.execute(select(LEDGER.c.calls).where(row)).scalar_one())

    def reserve(self, call: str, most: Amount, allows: Allows) -> bool:
        """Reserve an amount for a call if ``allows`` returns True. Returns whether it did."""
        with self._writing() as connection:
            _spend(connection, Amount())
            amounts = {row.call: Amount(row.calls, row.tokens, row.money) for row in connection.execute(select(LEDGER))}
            spent = amounts.pop(SPENT)
            amounts.pop(ACTIONS, None)
            amounts.pop(call, None)  # left by a worker that was lost during this call
            if allowed := allows(spent, sum(amounts.values(), Amount())):
                connection.execute(delete(LEDGER).where(LEDGER.c.call == call))
                _put(connection, call, most)
            return allowed

    def settle(self, call: str, spent: Amount) -> None:
        """Replace the amount reserved for a call with its cost."""
        with self._writing() as connection:
            _spend(connection, spent)
            connection.execute(delete(LEDGER).where(LEDGER.c.call == call))

    def release(self, call: str) -> None:
        """Remove the reservation for a call, if there is one."""
        with self._writing() as connection:
            connection.execute(delete(LEDGER).where(LEDGER.c.call == call))

    def release_below(self, path: str) -> None:
        """Remove the reservations for calls of an episode whose worker was lost."""
        with self._writing() as connection:
            connection.execute(delete(LEDGER).where(LEDGER.c.call.startswith(f"{path}/", autoescape=True)))


def _spend(connection: Connection, more: Amount) -> None:
    spent = {name: LEDGER.c[name] + amount for name, amount in vars(more).items()}
    connection.execute(update(LEDGER).where(LEDGER.c.call == SPENT).values(spent))


def _put(connection: Connection, call: str, amount: Amount) -> None:
    connection.execute(insert(LEDGER).values(call=call, **vars(amount)))


LEASED = select(LEASE).where(LEASE.c.episode == bindparam("of"))


class Losses(NamedTuple):
    """The number of workers lost on an episode in a row, and the highest number of events that it had reached."""

    lost: int
    events: int


class Leases:
    """Keeps leases in a table. A worker takes one while it has the episode's lock, which ends with its process."""

    def __init__(self, reading: Connect, writing: Connect) -> None:
        self._reading, self._writing = reading, writing

    def open(self) -> None:
        """Delete all leases and losses."""
        with self._writing() as connection:
            connection.execute(delete(LEASE))

    def losses(self, episode: int, count: Callable[[], int]) -> Losses:
        """Return the workers lost in a row on an episode without progress, for a caller that has its lock.

        A lease that still exists is that of a lost worker. ``count`` returns the number of the episode's events.
        """
        with self._reading() as connection:
            before = connection.execute(LEASED, {"of": episode}).first()
        if before is None:
            return Losses(0, 0)
        events = count()
        return Losses(1 if events > before.events else before.lost + 1, max(events, before.events))

    def take(self, episode: int, worker: str, losses: Losses) -> None:
        """Lease an episode to a worker."""
        row = {"episode": episode, "worker": worker, **losses._asdict()}
        with self._writing() as connection:
            if losses.lost:
                connection.execute(delete(LEASE).where(LEASE.c.episode == episode))
            connection.execute(insert(LEASE), row)

    def give_back(self, episode: int) -> None:
        """End a lease whose worker was not lost, although the episode has not ended."""
        with self._writing() as connection:
            connection.execute(delete(LEASE).where(LEASE.c.episode == episode))

    def workers(self) -> list[str]:
        """Return the last worker of each leased episode, since the run was opened to play."""
        with self._reading() as connection:
            return [row.worker for row in connection.execute(select(LEASE.c.worker))]
