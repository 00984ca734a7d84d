"""Leases on the episodes of a run: who plays one, and how many workers were lost on it before."""

from collections.abc import Callable
from contextlib import AbstractContextManager

from sqlalchemy import Connection, delete, insert, select, update

from planbook.store.tables import LEASE


class Leases:
    """Keeps leases in a table. Who takes one holds the episode's lock (``Store.hold``), which ends with its process."""

    def __init__(self, writing: Callable[[], AbstractContextManager[Connection]]) -> None:
        self._writing = writing

    def open(self) -> None:
        """Begin to play: whatever was lost before is forgiven."""
        with self._writing() as connection:
            connection.execute(delete(LEASE))

    def take(self, episode: int, worker: str, count: Callable[[], int]) -> int:
        """Lease an episode to a worker. Returns how many workers in a row were lost on it without getting further.

        A lease that is there already is that of a lost worker. ``count`` returns the number of the episode's events.
        """
        with self._writing() as connection:
            before = connection.execute(select(LEASE).where(LEASE.c.episode == episode)).first()
            if before is None:
                connection.execute(insert(LEASE).values(episode=episode, worker=worker, lost=0, events=0))
                return 0
        events = count()
        lost = 1 if events > before.events else before.lost + 1
        now = {"worker": worker, "lost": lost, "events": max(events, before.events)}
        with self._writing() as connection:
            connection.execute(update(LEASE).where(LEASE.c.episode == episode).values(now))
        return lost

    def give_back(self, episode: int) -> None:
        """End a lease whose worker is not lost, although the episode has not ended."""
        with self._writing() as connection:
            connection.execute(delete(LEASE).where(LEASE.c.episode == episode))

    def workers(self) -> list[str]:
        """Return the worker that has or had each leased episode, since the run was opened to be played."""
        with self._writing() as connection:
            return [row.worker for row in connection.execute(select(LEASE.c.worker))]
