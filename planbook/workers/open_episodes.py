"""The open episodes of a run, and the workers that play them.

An episode is open until its ending is recorded. A worker leases an open episode, plays it, records its ending, and
takes the next, until no episode is open. Leases are kept in the run's store, so threads, processes and Ray actors on
several machines can share a run. One of the processes is the leader: the one whose command began or resumed the run.
"""

import os
import platform
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from planbook.planner import Ending, EpisodeStopped, Journal, Outcome
from planbook.runs import DIVERGED, EpisodeEntry, Run, index_of, superseded_scopes
from planbook.store import OnEvent, restart_scope
from planbook.workers.control import Switches

IDLE_SECONDS = 0.1
"""Seconds between two attempts to lease an episode, while all open episodes are leased by other workers."""
MAX_LOST = 3
"""An episode is given up if this many workers in a row are lost while playing it.

The last of these workers plays no other episode in the meantime, so its loss affects only this episode."""
WORKERS_LOST = f"{MAX_LOST} worker processes in a row ended while they played this episode"


class OpenEpisodes:
    """The open episodes of a run, as last read from the store. Threads may share this object."""

    def __init__(self, run: Run) -> None:
        self._run, self._excluded, self._lock = run, superseded_scopes(run), threading.Lock()
        self._ended = threading.Event()
        self._open = {entry.index: entry for entry in run.entries()}
        self._endings: list[tuple[EpisodeEntry, Ending]] = []
        self._row = 0
        self.refresh()
        self._endings.clear()

    def refresh(self, *, reread: bool = False) -> None:
        """Read the endings that were recorded since the last call. With ``reread``, read all endings again.

        Rereading finds an ending that PostgreSQL committed only after a later ending had been read.
        """
        with self._lock:
            if not self._open:
                return
            self._row = 0 if reread else self._row
            for row, event in self._run.store.events_of_kind_after(self._row, "outcome"):
                self._row = row
                if (index := index_of(event.scope)) in self._open and event.scope not in self._excluded:
                    ending = Ending.model_validate(event.body)
                    if ending.cause != DIVERGED:
                        self._endings.append((self._open.pop(index), ending))

    def mark_ended(self, entry: EpisodeEntry, ending: Ending) -> None:
        """Remove an episode that this process has ended, so that its ending need not be read from the store."""
        with self._lock:
            if self._open.pop(entry.index, None):
                self._endings.append((entry, ending))
        self._ended.set()

    def take_ended(self) -> list[tuple[EpisodeEntry, Ending]]:
        """Return the episodes whose endings were read or recorded since the last call, with these endings."""
        with self._lock:
            ended, self._endings = self._endings, []
            return ended

    def wait(self) -> None:
        """Wait until a thread of this process ends an episode, but at most IDLE_SECONDS. Then read new endings."""
        self._ended.wait(IDLE_SECONDS)
        self._ended.clear()
        self.refresh()

    def __iter__(self) -> Iterator[EpisodeEntry]:
        with self._lock:
            entries = [*self._open.values()]
        return (entry for entry in entries if entry in self)

    def __contains__(self, entry: EpisodeEntry) -> bool:
        return entry.index in self._open

    def __len__(self) -> int:
        return len(self._open)


class PlayingLock:
    """Lets threads play in parallel. If playing an episode may end the process, its thread plays alone."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._playing_count, self._is_alone = 0, False

    @contextmanager
    def acquire(self, *, alone: bool) -> Iterator[None]:
        """Wait until the thread may play, and hold the lock until the block ends.

        With ``alone``, wait until no other thread plays, and keep the others from playing until the block ends.
        """
        with self._changed:
            self._changed.wait_for(lambda: not self._is_alone)
            self._is_alone = alone
            self._changed.wait_for(lambda: not alone or not self._playing_count)
            self._playing_count += 1
        try:
            yield
        finally:
            with self._changed:
                self._playing_count -= 1
                self._is_alone = self._is_alone and not alone
                self._changed.notify_all()


class EpisodeLeaser:
    """Leases the open episodes of a run to the threads of this process.

    A lease is recorded, and remains after the episode has ended. So an episode without a lease has not ended since this
    invocation began. An episode with a lease but no lock has ended, or its worker was lost.
    """

    def __init__(self, run: Run, switches: Switches, open_episodes: OpenEpisodes) -> None:
        self._run, self._switches, self.open_episodes = run, switches, open_episodes
        self._playing_lock, self._name = PlayingLock(), process_name()

    @contextmanager
    def lease(self) -> Iterator[EpisodeEntry | None]:
        """Lease an open episode, and lock it until the block ends. Yield None if all episodes have ended.

        While all open episodes are leased by other workers, wait. Raises EpisodeStopped if the run is stopped.
        """
        while self.open_episodes:
            for entry in self.open_episodes:
                if self._switches.stopped:
                    raise EpisodeStopped
                with self._run.store.lock(entry.index) as acquired, self._leased(entry, acquired) as leased:
                    if leased:
                        yield entry
                        return
            self.open_episodes.wait()
        yield None

    @contextmanager
    def _leased(self, entry: EpisodeEntry, acquired: bool) -> Iterator[bool]:
        """Lease an episode if its lock was acquired and it has not ended. Yield True if it was leased.

        First wait until the thread may play: a worker that is lost while it waits must not count as lost while playing
        the episode.
        """
        leases = self._run.store.leases
        if acquired:
            with self._playing_lock.acquire(alone=False):
                if leases.take(entry.index, self._name):
                    with self._end_lease_on_error(entry):
                        yield True
                    return
            if (lost := self._losses(entry)) is not None:
                with self._playing_lock.acquire(alone=lost == MAX_LOST - 1), self._end_lease_on_error(entry):
                    leases.take_over(entry.index, self._name, lost)
                    yield True
                return
        yield False

    def _losses(self, entry: EpisodeEntry) -> int | None:
        """Return the number of workers lost while playing a leased episode, or None if the episode has ended.

        If too many were lost, give up the episode, which ends it, and return None.
        """
        self.open_episodes.refresh()
        if entry not in self.open_episodes:
            return None
        store = self._run.store
        store.ledger.release_below(entry.path)
        lost = store.leases.losses(entry.index)
        if lost < MAX_LOST:
            return lost
        self.open_episodes.mark_ended(entry, give_up(self._run, entry, WORKERS_LOST))
        return None

    @contextmanager
    def _end_lease_on_error(self, entry: EpisodeEntry) -> Iterator[None]:
        """Delete the lease if the block raises an error. Otherwise the worker would count as lost."""
        try:
            yield
        except BaseException:
            self._run.store.leases.give_back(entry.index)
            raise


# Attempts at an episode


def give_up(run: Run, entry: EpisodeEntry, message: str) -> Ending:
    """Record the ending BROKEN for an episode that no worker can play, unless it has ended already."""
    path, journal, ending = current_attempt(run, entry)
    return ending or record_broken(journal, path, Outcome.BROKEN.value, message)


def current_attempt(
    run: Run, entry: EpisodeEntry, on_event: OnEvent | None = None
) -> tuple[str, Journal, Ending | None]:
    """Return the scope of an episode's current attempt, the attempt's journal, and its ending if it has one.

    If an attempt could not be repeated as recorded, or its ending no longer counts, the next attempt has a new scope.
    """
    path, restarts, excluded = entry.path, 0, superseded_scopes(run)
    while True:
        journal = run.journal(path, on_event)
        recorded = journal.get(path, "outcome", 0)
        ending = None if recorded is None else Ending.model_validate(recorded)
        if ending is None or (ending.cause != DIVERGED and path not in excluded):
            return path, journal, ending
        restarts += 1
        path = restart_scope(entry.path, restarts)


def record_broken(journal: Journal, path: str, cause: str, message: str) -> Ending:
    """Record the ending BROKEN for an attempt, and return this ending."""
    ending = Ending(outcome=Outcome.BROKEN, cause=cause, message=message)
    journal.put(path, "outcome", 0, ending.model_dump(mode="json"))
    return ending


def process_name() -> str:
    """Return the name of this process in leases."""
    return f"{platform.node()}/{os.getpid()}"
