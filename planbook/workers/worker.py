"""Play the episodes of a run in threads of this process. A worker is a thread that plays one episode after another.

An episode is open until its ending is recorded. A worker leases an open episode, plays it, records its ending, and
takes the next, until no episode is open. Leases are kept in the run's store, so threads, processes and Ray actors on
several machines can share a run. One of the processes is the leader: the one whose command began or resumed the run.
"""

import logging
import os
import platform
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Self

from pydantic import BaseModel

from planbook.config import Config
from planbook.envs import Environment, EnvironmentBroken, EnvsError, MissingRequirement
from planbook.planner import (
    NO_MODELS,
    Ending,
    Episode,
    EpisodeSettings,
    EpisodeStopped,
    Journal,
    JournalMismatch,
    Memory,
    Outcome,
    Roles,
    Strategy,
    method,
    play,
)
from planbook.runs import DIVERGED, Entry, Run, changed_versions, index_of, superseded_scopes
from planbook.sandbox import Sandbox
from planbook.store import Watch, restart_scope
from planbook.workers.control import Switches, append_event, in_threads
from planbook.workers.models import roles_of

LOG = logging.getLogger(__name__)
IDLE_SECONDS = 0.1
"""Seconds between two attempts to lease an episode, while all open episodes are leased by other workers."""
MAX_LOST = 3
"""If this many workers in a row are lost while they play an episode, it is given up.

The last of these workers plays no other episode in the meantime, so its loss affects only this episode."""
LOST = f"{MAX_LOST} worker processes in a row ended while they played this episode"


class OpenEpisodes:
    """The open episodes of a run, as last read from the store. Threads may share this object."""

    def __init__(self, run: Run) -> None:
        self._run, self._excluded, self._lock = run, superseded_scopes(run), threading.Lock()
        self._ended = threading.Event()
        self._open = {entry.index: entry for entry in run.entries()}
        self._endings: list[tuple[Entry, Ending]] = []
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

    def mark_ended(self, entry: Entry, ending: Ending) -> None:
        """Remove an episode that this process has ended, so that it need not be read from the store."""
        with self._lock:
            if self._open.pop(entry.index, None):
                self._endings.append((entry, ending))
        self._ended.set()

    def take_ended(self) -> list[tuple[Entry, Ending]]:
        """Return the episodes that were seen to end since the last call, with their endings."""
        with self._lock:
            ended, self._endings = self._endings, []
            return ended

    def wait(self) -> None:
        """Wait until a thread of this process ends an episode, but at most IDLE_SECONDS. Then read new endings."""
        self._ended.wait(IDLE_SECONDS)
        self._ended.clear()
        self.refresh()

    def __iter__(self) -> Iterator[Entry]:
        with self._lock:
            entries = [*self._open.values()]
        return (entry for entry in entries if entry in self)

    def __contains__(self, entry: Entry) -> bool:
        return entry.index in self._open

    def __len__(self) -> int:
        return len(self._open)


class PlayingLock:
    """Lets threads play in parallel. If playing an episode may end the process, its thread plays alone."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._playing, self._alone = 0, False

    @contextmanager
    def acquire(self, *, alone: bool) -> Iterator[None]:
        """Wait until the thread may play, and hold the lock until the block ends.

        With ``alone``, wait until no other thread plays, and keep the others from playing until the block ends.
        """
        with self._changed:
            self._changed.wait_for(lambda: not self._alone)
            self._alone = alone
            self._changed.wait_for(lambda: not alone or not self._playing)
            self._playing += 1
        try:
            yield
        finally:
            with self._changed:
                self._playing -= 1
                self._alone = self._alone and not alone
                self._changed.notify_all()


class EpisodeLeaser:
    """Leases the open episodes of a run to the threads of this process.

    A lease is recorded, and remains after the episode has ended. So if an episode has no lease, it has not ended since
    this invocation began. If it has a lease but no lock, it has ended, or its worker was lost.
    """

    def __init__(self, run: Run, switches: Switches, open_episodes: OpenEpisodes) -> None:
        self._run, self._switches, self.open_episodes = run, switches, open_episodes
        self._lock, self._name = PlayingLock(), process_name()

    @contextmanager
    def lease(self) -> Iterator[Entry | None]:
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
    def _leased(self, entry: Entry, acquired: bool) -> Iterator[bool]:
        """Lease an episode if its lock was acquired and it has not ended. Yield whether it was leased.

        Before the lease is taken, this waits until the thread may play: a worker that is lost while it waits must not
        count as lost while playing the episode.
        """
        leases = self._run.store.leases
        if acquired:
            with self._lock.acquire(alone=False):
                if leases.take(entry.index, self._name):
                    with self._end_lease_on_error(entry):
                        yield True
                    return
            if (lost := self._losses(entry)) is not None:
                with self._lock.acquire(alone=lost == MAX_LOST - 1), self._end_lease_on_error(entry):
                    leases.take_over(entry.index, self._name, lost)
                    yield True
                return
        yield False

    def _losses(self, entry: Entry) -> int | None:
        """Return how many workers were lost while playing a leased episode, or None if the episode has ended.

        If too many were lost, give up the episode, which ends it.
        """
        self.open_episodes.refresh()
        if entry not in self.open_episodes:
            return None
        store = self._run.store
        store.ledger.release_below(entry.path)
        lost = store.leases.losses(entry.index)
        if lost < MAX_LOST:
            return lost
        self.open_episodes.mark_ended(entry, give_up(self._run, entry, LOST))
        return None

    @contextmanager
    def _end_lease_on_error(self, entry: Entry) -> Iterator[None]:
        """Delete the lease if playing the episode raises an error. Otherwise the worker would count as lost."""
        try:
            yield
        except BaseException:
            self._run.store.leases.give_back(entry.index)
            raise


# Playing one episode, from its beginning or from its recorded part


class EpisodeWorker:
    """Plays episodes in one thread. Each worker has its own environment, but workers share the sandbox and the models.

    ``guard`` is called before every action, and may raise EpisodeStopped or BudgetEnded. A ``with`` block closes the
    environment at its end.
    """

    def __init__(
        self, config: Config, sandbox: Sandbox, guard: Callable[[], None] = lambda: None, roles: Roles = NO_MODELS
    ) -> None:
        self.sandbox, self.guard, self.roles = sandbox, guard, roles
        self._config = config
        self._environment: Environment | None = None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.drop_environment()

    def environment(self) -> Environment:
        """Return the worker's environment. Raises EnvironmentBroken or MissingRequirement if it cannot be created."""
        if self._environment is None:
            environment = self._config.environment
            try:
                self._environment = environment(self._config.environment_options)
            except EnvsError:
                raise
            except Exception as error:
                raise EnvironmentBroken(
                    f"{environment.__name__} could not be created: {type(error).__name__}: {error}"
                ) from error
        return self._environment

    def drop_environment(self) -> None:
        """Close the environment, so that the next episode gets a new one. An error in closing it is only logged."""
        environment, self._environment = self._environment, None
        if environment is not None:
            try:
                environment.close()
            except Exception as error:
                LOG.warning("%s could not be closed: %s: %s", environment.name, type(error).__name__, error)

    def play_arguments(
        self, entry: Entry, path: str, journal: Journal, memory: Memory | None = None
    ) -> tuple[Episode, Strategy, BaseModel]:
        """Return the arguments of ``planner.play``: an episode, its planning method, and the method's options.

        ``path`` is the scope under which the events of the episode are recorded in the journal.
        """
        config = self._config
        strategy = method(config.planner)
        settings = EpisodeSettings(
            config.actions, config.limits, f"{config.seed}/{entry.repeat}", config.stream, config.dry_run
        )
        episode = Episode(
            entry.task,
            self.environment(),
            self.sandbox,
            journal,
            settings=settings,
            path=path,
            memory=memory,
            roles=self.roles.seeded(config.seed + entry.repeat),
            guard=self.guard,
            task_changes=config.task_overrides(entry.task),
        )
        return episode, strategy.play, strategy.options.model_validate(config.planner_options)


def play_episode(run: Run, memory: Memory, entry: Entry, worker: EpisodeWorker, watch: Watch | None = None) -> Ending:
    """Play one episode to its end, or return its recorded ending. If it is BROKEN, the worker's environment is closed.

    If an attempt at the episode was begun earlier, its recorded part is repeated first. If that is impossible, for
    example because the environment behaves differently, the attempt is recorded as BROKEN, and a new attempt begins.
    """
    while True:
        path, journal, ending = _current_attempt(run, entry, watch)
        if ending is None:
            try:
                ending = play(*worker.play_arguments(entry, path, journal, memory))
            except JournalMismatch as mismatch:
                _record_broken(journal, path, DIVERGED, str(mismatch))
                continue
            except MissingRequirement:
                raise
            except EnvsError as error:
                ending = _record_broken(journal, path, Outcome.BROKEN.value, str(error))
            else:
                _record_versions(run, worker.environment())
        if ending.outcome is Outcome.BROKEN:
            worker.drop_environment()
        return ending


def give_up(run: Run, entry: Entry, message: str) -> Ending:
    """Record the ending BROKEN for an episode that no worker can play, unless it has ended already."""
    path, journal, ending = _current_attempt(run, entry)
    return ending or _record_broken(journal, path, Outcome.BROKEN.value, message)


def _current_attempt(run: Run, entry: Entry, watch: Watch | None = None) -> tuple[str, Journal, Ending | None]:
    """Return the scope of an episode's current attempt, the attempt's journal, and its ending if it has one.

    If an attempt could not be repeated as recorded, or its ending no longer counts, the next attempt has a new scope.
    """
    path, restarts, excluded = entry.path, 0, superseded_scopes(run)
    while True:
        journal = run.journal(path, watch)
        recorded = journal.get(path, "outcome", 0)
        ending = None if recorded is None else Ending.model_validate(recorded)
        if ending is None or (ending.cause != DIVERGED and path not in excluded):
            return path, journal, ending
        restarts += 1
        path = restart_scope(entry.path, restarts)


def _record_broken(journal: Journal, path: str, cause: str, message: str) -> Ending:
    ending = Ending(outcome=Outcome.BROKEN, cause=cause, message=message)
    journal.put(path, "outcome", 0, ending.model_dump(mode="json"))
    return ending


def _record_versions(run: Run, environment: Environment) -> None:
    """Record the versions that an environment reports only after an episode has begun, such as the browser's.

    They are recorded once in an invocation, and only if they differ from those recorded last.
    """
    if run.versions_recorded:
        return
    run.versions_recorded = True
    current, recorded = dict(environment.versions()), run.environment_versions
    if current != recorded:
        if changed := changed_versions(recorded, current):
            LOG.warning("Other versions than in earlier episodes of this run: %s.", ", ".join(map(str, changed)))
        append_event(run.store, "run", "versions", current)


# The loop


def play_in_threads(
    run: Run,
    memory: Memory,
    count: int,
    unsafe_no_sandbox: bool,
    switches: Switches,
    watch: Watch | None = None,
    poll: Callable[[], None] = lambda: None,
    open_episodes: OpenEpisodes | None = None,
) -> bool:
    """Play the open episodes of a run in ``count`` threads of this process. Return False if the run was stopped.

    ``poll`` is called in the calling thread: after each ending, and at regular intervals. ``watch`` is called in an
    episode's thread with each new event. Only the leader passes ``open_episodes``.
    """
    leaser = EpisodeLeaser(run, switches, OpenEpisodes(run) if open_episodes is None else open_episodes)
    if not leaser.open_episodes:
        return True
    with workers_of(run, unsafe_no_sandbox, switches) as open_worker:

        def play_open(notify: Callable[[], None]) -> None:
            with open_worker() as worker:
                while True:
                    with leaser.lease() as entry:
                        if entry is None:
                            return
                        ending = play_episode(run, memory, entry, worker, watch)
                        leaser.open_episodes.mark_ended(entry, ending)
                    notify()

        threads = min(count, len(leaser.open_episodes))
        return in_threads(threads, play_open, switches.stop, poll, switches.finish_calls)


@contextmanager
def workers_of(
    run: Run, unsafe_no_sandbox: bool, switches: Switches, roles: Roles | None = None
) -> Iterator[Callable[[], EpisodeWorker]]:
    """Yield a function that creates a worker. All workers share one sandbox, and ``roles``, by default the run's."""

    def guard() -> None:
        switches.guard()
        run.meter.before_action()

    with Sandbox(modules=run.config.environment.modules, unsafe_no_sandbox=unsafe_no_sandbox) as sandbox:
        roles = roles or roles_of(run, switches)
        try:
            yield partial(EpisodeWorker, run.config, sandbox, guard, roles)
        except KeyboardInterrupt:  # the second Ctrl-C: threads still play episodes, but must not record a false ending
            run.store.journals_closed = True
            raise


def process_name() -> str:
    """Return the name of this process in leases."""
    return f"{platform.node()}/{os.getpid()}"
