"""What all processes that play a run share in its store: one budget, and leases on the episodes."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import NamedTuple

from sqlalchemy import Connection, bindparam, delete, insert, select, update

from planbook.planner import Allows, Amount
from planbook.store.tables import LEASE, LEDGER

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
