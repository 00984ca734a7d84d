"""The tables of a run: events, their long texts, the ledger (amounts spent and reserved), and leases on episodes.

The tables are in a SQLite file, or in a ``Schema`` of a PostgreSQL database.
"""

import re
import secrets
from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, Self

import sqlalchemy as sa
from pydantic import JsonValue

from planbook.errors import BadArgument
from planbook.planner import AllowsCall, Amount

METADATA = sa.MetaData()
SCOPE_TYPE = sa.Text().with_variant(sa.Text(collation="C"), "postgresql")
"""The column type of a scope. PostgreSQL sorts scopes by their bytes, as SQLite does. So all scopes below a given scope
form a range."""
EVENT = sa.Table(
    "event",
    METADATA,
    sa.Column("id", sa.Integer, primary_key=True),
    sa.Column("scope", SCOPE_TYPE, nullable=False),
    sa.Column("kind", sa.String(16), nullable=False),
    sa.Column("n", sa.Integer, nullable=False),
    sa.Column("body", sa.Text, nullable=False),
    sa.Column("at", sa.Float, nullable=False),
    sa.UniqueConstraint("scope", "kind", "n"),
)
LEDGER = sa.Table(
    "ledger",
    METADATA,
    sa.Column("call", sa.Text, primary_key=True),
    sa.Column("calls", sa.Integer, nullable=False),
    sa.Column("tokens", sa.Integer, nullable=False),
    sa.Column("money", sa.Float, nullable=False),
)
"""The amount spent so far, and the amount reserved for each running model call. See ``StoreLedger``."""
LEASE = sa.Table(
    "lease",
    METADATA,
    sa.Column("episode", sa.Integer, primary_key=True, autoincrement=False),
    sa.Column("worker", sa.Text, nullable=False),
    sa.Column("events", sa.Integer, nullable=False, server_default="0"),  # unused, but earlier runs have it
    sa.Column("lost", sa.Integer, nullable=False),
)
"""The leases: for each leased episode, the last worker that leased it. ``lost`` is the number of workers in a row that
were lost while playing the episode before this worker leased it."""
TEXT = sa.Table(
    "text", METADATA, sa.Column("hash", sa.String(64), primary_key=True), sa.Column("body", sa.Text, nullable=False)
)


class Event(NamedTuple):
    """One event; ``at`` is seconds since 1970."""

    scope: str
    kind: str
    n: int
    body: dict[str, JsonValue]
    at: float


Events = Mapping[Any, Any]
"""The events of an episode: maps the (scope, kind, number) of each event to its body."""


class EventRow(NamedTuple):
    """An event as a row, with its body packed into JSON."""

    scope: str
    kind: str
    n: int
    body: str
    at: float


RESTART = "/restart/"
"""Separates the scope of an episode from the number of a restart, as in ``task/3/restart/1``.

A scope is a path that groups events."""


def restart_scope(path: str, number: int) -> str:
    """Return the scope of an episode's attempt after ``number`` restarts."""
    return f"{path}{RESTART}{number}"


def without_restart(scope: str) -> str:
    """Return a scope without its restarts: ``task/3/ask`` for ``task/3/restart/1/ask``."""
    return re.sub(rf"{RESTART}\d+", "", scope)


URL_PREFIXES = ("postgresql://", "postgres://")


@dataclass(frozen=True)
class Schema:
    """A schema in a PostgreSQL database. The schema holds the tables of one run."""

    url: str = field(repr=False)
    """A URL for libpq; it may contain a password."""
    schema: str

    @classmethod
    def new(cls, url: str) -> Self:
        """Return a ``Schema`` with a new name. The schema is not created in the database.

        Raises BadArgument if the URL does not name a PostgreSQL database.
        """
        if not url.startswith(URL_PREFIXES):
            option = f"--store {without_password(url)}"
            raise BadArgument(f"{option}: write postgresql://USER@HOST/DATABASE; without --store, a file is used")
        return cls(url, f"planbook_{datetime.now():%Y%m%d_%H%M%S}_{secrets.token_hex(3)}")

    def redacted(self) -> Self:
        """Return the same schema without the password in its URL, for run.json."""
        return replace(self, url=without_password(self.url))

    def __str__(self) -> str:
        return f"{without_password(self.url)} (schema {self.schema})"


StoreLocation = Path | Schema


def without_password(url: str) -> str:
    """Return a URL without its password, which must be neither recorded nor shown."""
    shortened = re.sub(r"^(\w+://[^/:@]*):[^/]*@", r"\1@", url)
    return re.sub(r"(?<=[?&])password=[^&]*(&|$)", "", shortened).rstrip("?&")


Connect = Callable[[], AbstractContextManager[sa.Connection]]
SPENT, ACTIONS = "spent", "actions"
"""Names of two rows of the ledger: the row with the amount spent so far, and the row whose column ``calls`` holds the
number of actions so far. Every other row holds the amount reserved for the model call that it is named after."""


class StoreLedger:
    """Implements ``planner.Ledger`` with a table. ``writing`` begins a transaction.

    Every transaction that reserves or settles an amount begins by updating the row SPENT, which locks this row. So only
    one process at a time can reserve or settle an amount.
    """

    def __init__(self, writing: Connect) -> None:
        self._writing = writing

    def reset(self, spent: Amount, actions: int) -> None:
        """Set the amount spent and the number of actions so far, and remove all reservations."""
        with self._writing() as connection:
            connection.execute(sa.delete(LEDGER))
            _put(connection, SPENT, spent)
            _put(connection, ACTIONS, Amount(actions))

    def count_actions(self, number: int) -> int:
        """Add ``number`` to the number of actions. Return the number of actions of all processes so far."""
        row = LEDGER.c.call == ACTIONS
        with self._writing() as connection:
            connection.execute(sa.update(LEDGER).where(row).values(calls=LEDGER.c.calls + number))
            return int(connection.execute(sa.select(LEDGER.c.calls).where(row)).scalar_one())

    def reserve(self, key: str, amount: Amount, allows: AllowsCall) -> bool:
        """Reserve an amount for a model call if ``allows`` returns True. Return the value from ``allows``.

        ``allows`` is called with the amount spent so far and the amount reserved for other calls.
        """
        with self._writing() as connection:
            _spend(connection, Amount())
            amounts = {
                row.call: Amount(row.calls, row.tokens, row.money) for row in connection.execute(sa.select(LEDGER))
            }
            spent = amounts.pop(SPENT)
            amounts.pop(ACTIONS, None)
            amounts.pop(key, None)  # left by a worker that was lost during this call
            if allowed := allows(spent, sum(amounts.values(), Amount())):
                connection.execute(sa.delete(LEDGER).where(LEDGER.c.call == key))
                _put(connection, key, amount)
            return allowed

    def settle(self, key: str, spent: Amount) -> None:
        """Replace the amount that is reserved for a call with the call's actual cost."""
        with self._writing() as connection:
            _spend(connection, spent)
            connection.execute(sa.delete(LEDGER).where(LEDGER.c.call == key))

    def release(self, key: str) -> None:
        """Remove the reservation for a call, if there is one."""
        with self._writing() as connection:
            connection.execute(sa.delete(LEDGER).where(LEDGER.c.call == key))

    def release_below(self, path: str) -> None:
        """Remove the reservations for all calls of an episode, after its worker was lost."""
        with self._writing() as connection:
            connection.execute(sa.delete(LEDGER).where(LEDGER.c.call.startswith(f"{path}/", autoescape=True)))


def _spend(connection: sa.Connection, amount: Amount) -> None:
    spent = {name: LEDGER.c[name] + number for name, number in vars(amount).items()}
    connection.execute(sa.update(LEDGER).where(LEDGER.c.call == SPENT).values(spent))


def _put(connection: sa.Connection, key: str, amount: Amount) -> None:
    connection.execute(sa.insert(LEDGER).values(call=key, **vars(amount)))


THIS_EPISODE = LEASE.c.episode == sa.bindparam("this_episode")
LOST_BEFORE = sa.select(LEASE.c.lost).where(THIS_EPISODE)
NEW_LEASE = sa.select(
    sa.bindparam("this_episode", type_=sa.Integer), sa.bindparam("new_worker", type_=sa.Text), sa.literal(0)
)
ADD_LEASE = (
    sa.insert(LEASE)
    .from_select(["episode", "worker", "lost"], NEW_LEASE.where(~sa.exists().where(THIS_EPISODE)))
    .execution_options(preserve_rowcount=True)
)
"""Adds a lease, unless the episode already has one. Like LOST_BEFORE, it is compiled once for all episodes."""


class Leases:
    """Keeps the leases on episodes in a table. A worker may lease an episode only while it holds the episode's lock.

    A lease stays in the table when its worker is lost, and also when its worker ends the episode. So if an episode has
    a lease, but has not ended and is not locked, its worker was lost.
    """

    def __init__(self, reading: Connect, writing: Connect) -> None:
        self._reading, self._writing = reading, writing

    def clear(self) -> None:
        """Delete all leases, including the numbers of lost workers."""
        with self._writing() as connection:
            connection.execute(sa.delete(LEASE))

    def take(self, episode: int, worker: str) -> bool:
        """Lease an episode to a worker. Return False, and do nothing, if the episode already has a lease."""
        with self._writing() as connection:
            return connection.execute(ADD_LEASE, {"this_episode": episode, "new_worker": worker}).rowcount == 1

    def losses(self, episode: int) -> int:
        """Return the number of workers in a row that were lost while playing an episode that has not ended.

        The caller must hold the episode's lock, so the worker that the lease names was lost, and is counted too. Return
        0 if there is no lease: another process may just have resumed the run, which deletes all leases.
        """
        with self._reading() as connection:
            lost = connection.execute(LOST_BEFORE, {"this_episode": episode}).scalar()
        return 0 if lost is None else int(lost) + 1

    def take_over(self, episode: int, worker: str, lost: int) -> None:
        """Lease an episode to another worker, after ``lost`` workers in a row were lost while playing it."""
        with self._writing() as connection:
            values = {"worker": worker, "lost": lost}
            connection.execute(sa.update(LEASE).where(LEASE.c.episode == episode).values(values))

    def give_back(self, episode: int) -> None:
        """Delete the lease of a worker that leaves an episode before its end, so that it does not count as lost."""
        with self._writing() as connection:
            connection.execute(sa.delete(LEASE).where(LEASE.c.episode == episode))

    def workers(self) -> list[str]:
        """Return the last worker of each episode that was leased in the current invocation."""
        with self._reading() as connection:
            return [row.worker for row in connection.execute(sa.select(LEASE.c.worker))]
