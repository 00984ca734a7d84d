"""The tables of a run: events and their texts, the ledger of what is spent and reserved, and leases on episodes."""

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
"""Sorted by bytes, as SQLite does by default, so that the scopes below one are a range."""
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
"""The amounts spent, and reserved for each model call under way; see ``planbook.store.tables``."""
LEASE = Table(
    "lease",
    METADATA,
    Column("episode", Integer, primary_key=True, autoincrement=False),
    Column("worker", Text, nullable=False),
    Column("lost", Integer, nullable=False),
    Column("events", Integer, nullable=False),
)
"""The worker that leased an episode last, the number lost on it in a row, and the most events it had by then."""
TEXT = Table("text", METADATA, Column("hash", String(64), primary_key=True), Column("body", Text, nullable=False))


class Event(NamedTuple):
    """One event; ``at`` is seconds since 1970."""

    scope: str
    kind: str
    n: int
    body: dict[str, JsonValue]
    at: float


class EventRow(NamedTuple):
    """An event as it is written, with its body packed into JSON."""

    scope: str
    kind: str
    n: int
    body: str
    at: float


LONG_TEXT = 400
"""Strings of at least this length go to the table of texts."""
TEXT_KEY = "$text"
ESCAPE = "\\"
"""Precedes a key of a body that begins like one of the store's own."""


def packed(body: Body, texts: dict[str, str]) -> str:
    """Return a body as JSON; ``texts`` receives the long strings, by their hashes."""
    value = _pack(dict(body), texts)
    text = json.dumps(value, ensure_ascii=False)
    return text if _storable(text) else json.dumps(value)


def texts_of(value: Any) -> Iterator[str]:
    """Yield the hashes of the long strings that a packed body needs."""
    if isinstance(value, list):
        for item in value:
            yield from texts_of(item)
    elif isinstance(value, dict):
        if set(value) == {TEXT_KEY}:
            yield value[TEXT_KEY]
        else:
            yield from texts_of(list(value.values()))


def unpacked(value: Any, texts: Mapping[str, str]) -> Any:
    """Return the original body, with its long strings."""
    if isinstance(value, list):
        return [unpacked(item, texts) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {TEXT_KEY}:
        return texts[value[TEXT_KEY]]
    return {key.removeprefix(ESCAPE): unpacked(item, texts) for key, item in value.items()}


def _pack(value: JsonValue, texts: dict[str, str]) -> JsonValue:
    if isinstance(value, str):
        if len(value) < LONG_TEXT or not _storable(value):
            return value
        digest = hashlib.sha256(value.encode("utf-8")).hexdigest()
        texts[digest] = value
        return {TEXT_KEY: digest}
    if isinstance(value, dict):
        return {_escaped(key): _pack(item, texts) for key, item in value.items()}
    if isinstance(value, list):
        return [_pack(item, texts) for item in value]
    return value


def _storable(text: str) -> bool:
    """Return whether databases accept a text as it is.

    Half of a surrogate pair has no UTF-8, and PostgreSQL takes no NUL; both are kept as escapes of JSON.
    """
    try:
        return b"\0" not in text.encode("utf-8")
    except UnicodeEncodeError:
        return False


def _escaped(key: str) -> str:
    """Return a key, escaped if it could be taken for one of the store's own."""
    return f"{ESCAPE}{key}" if key.startswith(("$", ESCAPE)) else key


URL_STARTS = ("postgresql://", "postgres://")


@dataclass(frozen=True)
class Schema:
    """A schema in a PostgreSQL database, which has the tables of one run."""

    url: str = field(repr=False)
    """A URL for libpq; it may have a password."""
    schema: str

    @classmethod
    def named_now(cls, url: str) -> Self:
        """Return a schema with a new name. Raises BadArgument for anything but a URL of PostgreSQL."""
        if not url.startswith(URL_STARTS):
            told = f"--store {without_password(url)}"
            raise BadArgument(f"{told}: write postgresql://USER@HOST/DATABASE; without --store it is a file")
        return cls(url, f"planbook_{datetime.now():%Y%m%d_%H%M%S}_{secrets.token_hex(3)}")

    def lasting(self) -> Self:
        """Return the schema without the password, for run.json."""
        return replace(self, url=without_password(self.url))

    def by(self, url: str | None) -> Self:
        """Return the schema with a URL that may have the password; a URL of another database changes nothing."""
        return replace(self, url=url) if url and without_password(url) == without_password(self.url) else self

    def __str__(self) -> str:
        return f"{without_password(self.url)} (schema {self.schema})"


Place = Path | Schema


def without_password(url: str) -> str:
    """Return a URL without its password, which must be neither recorded nor shown."""
    bare = re.sub(r"^(\w+://[^/:@]*):[^/]*@", r"\1@", url)
    return re.sub(r"(?<=[?&])password=[^&]*(&|$)", "", bare).rstrip("?&")


Connecting = Callable[[], AbstractContextManager[Connection]]
SPENT, ACTIONS = "spent", "actions"
"""The rows with what is spent on calls, and with the actions taken (as a number of calls); every other row
has what is reserved for the call that it is named after."""


class StoreLedger:
    """Keeps ``planner.Ledger`` in a table. ``writing`` begins a transaction.

    Each transaction begins with a change of the row of what is spent, which only one process can do at a time.
    """

    def __init__(self, writing: Connecting) -> None:
        self._writing = writing

    def open(self, spent: Amount, actions: int) -> None:
        """Set what was spent before; nothing is reserved."""
        with self._writing() as connection:
            connection.execute(delete(LEDGER))
            _put(connection, SPENT, spent)
            _put(connection, ACTIONS, Amount(actions))

    def act(self, number: int) -> int:
        """Count actions. Returns the actions of all processes so far."""
        mine = LEDGER.c.call == ACTIONS
        with self._writing() as connection:
            connection.execute(update(LEDGER).where(mine).values(calls=LEDGER.c.calls + number))
            return int(connection.execute(select(LEDGER.c.calls).where(mine)).scalar_one())

    def reserve(self, call: str, most: Amount, allows: Allows) -> bool:
        """Reserve an amount for a call if ``allows`` returns True. Returns what that returns."""
        with self._writing() as connection:
            _spend(connection, Amount())
            amounts = {row.call: Amount(row.calls, row.tokens, row.money) for row in connection.execute(select(LEDGER))}
            spent = amounts.pop(SPENT)
            amounts.pop(ACTIONS, None)
            amounts.pop(call, None)  # by a worker that was lost during this call
            if allowed := allows(spent, sum(amounts.values(), Amount())):
                connection.execute(delete(LEDGER).where(LEDGER.c.call == call))
                _put(connection, call, most)
            return allowed

    def settle(self, call: str, spent: Amount) -> None:
        """Count what a call has cost, in the place of what was reserved for it."""
        with self._writing() as connection:
            _spend(connection, spent)
            connection.execute(delete(LEDGER).where(LEDGER.c.call == call))

    def release(self, call: str) -> None:
        """Give back what is still reserved for a call."""
        with self._writing() as connection:
            connection.execute(delete(LEDGER).where(LEDGER.c.call == call))

    def release_below(self, path: str) -> None:
        """Give back what is still reserved for calls of an episode whose worker was lost."""
        with self._writing() as connection:
            connection.execute(delete(LEDGER).where(LEDGER.c.call.startswith(f"{path}/", autoescape=True)))


def _spend(connection: Connection, more: Amount) -> None:
    spent = {name: LEDGER.c[name] + amount for name, amount in vars(more).items()}
    connection.execute(update(LEDGER).where(LEDGER.c.call == SPENT).values(spent))


def _put(connection: Connection, call: str, amount: Amount) -> None:
    connection.execute(insert(LEDGER).values(call=call, **vars(amount)))


LEASED = select(LEASE).where(LEASE.c.episode == bindparam("of"))


class Losses(NamedTuple):
    """The number of workers lost on an episode in a row, and the most events that it had by then."""

    lost: int
    events: int


class Leases:
    """Keeps leases in a table. Who takes one holds the episode's lock (``Store.hold``), which ends with its process."""

    def __init__(self, reading: Connecting, writing: Connecting) -> None:
        self._reading, self._writing = reading, writing

    def open(self) -> None:
        """Forget all leases and losses."""
        with self._writing() as connection:
            connection.execute(delete(LEASE))

    def losses(self, episode: int, count: Callable[[], int]) -> Losses:
        """Return how many workers in a row were lost on an episode without getting further.

        A lease that is there already is that of a lost worker. ``count`` returns the number of the episode's events.
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
        """End a lease whose worker is not lost, although the episode has not ended."""
        with self._writing() as connection:
            connection.execute(delete(LEASE).where(LEASE.c.episode == episode))

    def workers(self) -> list[str]:
        """Return the worker that has or had each leased episode, since the run was opened to be played."""
        with self._reading() as connection:
            return [row.worker for row in connection.execute(select(LEASE.c.worker))]
