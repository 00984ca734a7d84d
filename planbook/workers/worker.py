"""The loop of every worker: lease an open episode, play it, record its ending, until no episode is open.

Leases are kept in the run's store, so threads, processes and Ray actors on several machines can share a run. One of the
processes is the leader: the one whose command began the run or resumed it.
"""

import os
import pickle
import platform
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from planbook.errors import BadRun
from planbook.knowledge import memory_of
from planbook.planner import Ending, EpisodeStopped, Memory, Meter, Roles, Spending, no_model
from planbook.runs import DIVERGED, Entry, Run, RunFile, index_of, superseded_scopes
from planbook.sandbox import Sandbox
from planbook.spending import prices_from
from planbook.store import Losses, Store, StoreLocation, Watch
from planbook.workers.control import RequestListener, Switches
from planbook.workers.episode import EpisodeWorker, give_up, play_episode
from planbook.workers.models import roles_of
from planbook.workers.threads import in_threads

IDLE_SECONDS = 0.1
"""Seconds between two attempts to lease an episode while other workers have leased all open episodes."""
MAX_LOST = 3
"""An episode is given up after this many workers in a row were lost on it without progress.

The last of them plays it alone, so that a further loss affects no other episode."""
LOST = f"{MAX_LOST} worker processes in a row ended while they played this episode"


class OpenEpisodes:
    """The episodes of a run that have no ending, as last read from the store. Threads may share this object."""

    def __init__(self, run: Run) -> None:
        self._run, self._excluded, self._lock = run, superseded_scopes(run), threading.Lock()
        self._ended = threading.Event()
        self._open = {entry.index: entry for entry in run.entries()}
        self._endings: list[tuple[Entry, Ending]] = []
        self._row = 0
        self.refresh()
        self._endings.clear()

    def refresh(self, *, reread: bool = False) -> None:
        """Read the endings that were recorded since the last call. If ``reread``, read all endings again.

        Rereading finds events that PostgreSQL committed late, after an event with a larger id had been read.
        """
        with self._lock:
            self._row = 0 if reread else self._row
            for row, event in self._run.store.events_after(self._row, "outcome"):
                self._row = row
                if (index := index_of(event.scope)) in self._open and event.scope not in self._excluded:
                    ending = Ending.model_validate(event.body)
                    if ending.cause != DIVERGED:
                        self._endings.append((self._open.pop(index), ending))

    def mark_ended(self, entry: Entry, ending: Ending) -> None:
        """Note that this process has ended an episode."""
        with self._lock:
            if self._open.pop(entry.index, None):
                self._endings.append((entry, ending))
        self._ended.set()

    def take_ended(self) -> list[tuple[Entry, Ending]]:
        """Return the episodes that have ended since the last call."""
        with self._lock:
            ended, self._endings = self._endings, []
            return ended

    def wait(self) -> None:
        """Wait until another thread has ended an episode, or for IDLE_SECONDS, then read new endings."""
        self._ended.wait(IDLE_SECONDS)
        self._ended.clear()
        self.refresh()

    def __iter__(self) -> Iterator[Entry]:
        with self._lock:
            return iter([*self._open.values()])

    def __contains__(self, entry: Entry) -> bool:
        return entry.index in self._open

    def __len__(self) -> int:
        return len(self._open)


class SharedLock:
    """Lets threads play in parallel. A thread whose episode may end the process plays alone."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._playing, self._alone = 0, False

    @contextmanager
    def acquire(self, *, alone: bool) -> Iterator[None]:
        """Wait until the thread may play, and hold the lock until the block ends."""
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


class EpisodeQueue:
    """Leases the open episodes of a run to the threads of this process.

    Only the leader passes ``open_episodes``. It records a lease only if workers have been lost on the episode, because
    its own death would end the run anyway.
    """

    def __init__(self, run: Run, switches: Switches, open_episodes: OpenEpisodes | None) -> None:
        self._run, self._switches, self._is_leader = run, switches, open_episodes is not None
        self._lock, self.open_episodes = SharedLock(), OpenEpisodes(run) if open_episodes is None else open_episodes
        self._name = worker_name()

    @contextmanager
    def lease(self) -> Iterator[Entry | None]:
        """Lease an open episode until the block ends; yield None once all have ended. Raises EpisodeStopped."""
        while self.open_episodes:
            for entry in self.open_episodes:
                if self._switches.stopped:
                    raise EpisodeStopped
                with self._run.store.lock(entry.index) as acquired:
                    losses = self._losses(entry) if acquired else None
                    if losses is not None:
                        with self._lock.acquire(alone=losses.lost == MAX_LOST - 1), self._end_lease_on_error(entry):
                            if losses.lost or not self._is_leader:
                                self._run.store.leases.take(entry.index, self._name, losses)
                            yield entry
                        return
            self.open_episodes.wait()
        yield None

    def _losses(self, entry: Entry) -> Losses | None:
        """Return how many workers were lost on a locked episode; None if the episode has ended, or is given up now."""
        self.open_episodes.refresh()
        if entry not in self.open_episodes:
            return None
        store = self._run.store
        losses = store.leases.losses(entry.index, lambda: sum(1 for _ in store.events(entry.path)))
        if losses.lost:
            store.ledger.release_below(entry.path)
        if losses.lost < MAX_LOST:
            return losses
        self.open_episodes.mark_ended(entry, give_up(self._run, entry, LOST))
        return None

    @contextmanager
    def _end_lease_on_error(self, entry: Entry) -> Iterator[None]:
        """End the lease if the worker leaves the episode without an ending. Otherwise the worker counts as lost."""
        try:
            yield
        except BaseException:
            self._run.store.leases.give_back(entry.index)
            raise


@dataclass(frozen=True)
class Job:
    """The input of a worker in another process. ``spent`` is the spending of the run so far.

    Files that run.json (``file``) names, such as a library or an environment, must have the same path on the worker's
    machine.
    """

    folder: Path
    store: StoreLocation
    file: RunFile
    threads: int = 1
    unsafe_no_sandbox: bool = False
    prices: Path | None = None
    spent: Spending = field(default_factory=Spending)


class WorkerReport(NamedTuple):
    """The result of a worker in another process: its name, its spending, and the error that ended it, if any."""

    worker: str
    spent: Spending = Spending()
    error: BaseException | None = None


def work(job: Job, is_played: Callable[[], bool] = lambda: True) -> WorkerReport:
    """Play open episodes of a run in this process until there are none, or until the run is stopped."""
    meter, error = Meter(), None
    try:
        with closing(Store(job.store)) as store:
            run = Run(job.folder, job.file, store)
            run.meter = meter = Meter(job.file.budget, job.spent, prices_from(job.prices), store.ledger)
            _play_job(run, job, is_played)
    except BaseException as raised:
        error = sendable(raised)
    return WorkerReport(worker_name(), meter.spent_here, error)


def _play_job(run: Run, job: Job, is_played: Callable[[], bool]) -> None:
    """Play open episodes. Raises EpisodeStopped if the run was stopped, or BadRun if its leader has ended."""
    listener = RequestListener(run, is_played)
    with listener.listening():
        finished = play_in_threads(run, memory_of(run.config), job.threads, job.unsafe_no_sandbox, listener.switches)
    if not finished and listener.abandoned:
        remedy = f"resume it with: planbook run --resume {run.folder}"
        raise BadRun(f"the process that played {run.folder} ended before the run was finished; {remedy}")
    if not finished:
        raise EpisodeStopped


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
    """Play the open episodes of a run in threads of this process. Returns False if the run was stopped.

    ``poll`` is called in this thread after each ending, and regularly. Only the leader passes ``open_episodes``.
    """
    queue = EpisodeQueue(run, switches, open_episodes)
    if not queue.open_episodes:
        return True
    with workers_of(run, unsafe_no_sandbox, switches) as open_worker:

        def play_open(notify: Callable[[], None]) -> None:
            with open_worker() as worker:
                while True:
                    with queue.lease() as entry:
                        if entry is None:
                            return
                        ending = play_episode(run, memory, entry, worker, watch)
                        queue.open_episodes.mark_ended(entry, ending)
                    notify()

        return in_threads(min(count, len(queue.open_episodes)), play_open, switches.stop, poll)


@contextmanager
def workers_of(
    run: Run, unsafe_no_sandbox: bool, switches: Switches, *, silent: bool = False
) -> Iterator[Callable[[], AbstractContextManager[EpisodeWorker]]]:
    """Yield a function that opens a worker. All workers share a sandbox; if ``silent``, they ask no model."""

    def guard() -> None:
        switches.guard()
        if not silent:
            run.meter.before_action()

    with Sandbox(modules=run.config.environment.modules, unsafe_no_sandbox=unsafe_no_sandbox) as sandbox:
        roles = Roles(no_model, run.config.sampling) if silent else roles_of(run, switches.must_stop)
        roles = roles.guarded(switches.guard)

        @contextmanager
        def open_worker() -> Iterator[EpisodeWorker]:
            worker = EpisodeWorker(run.config, sandbox, guard, roles)
            try:
                yield worker
            finally:
                worker.drop_environment()

        try:
            yield open_worker
        except KeyboardInterrupt:  # the second Ctrl-C: episodes that are still played must not record a false ending
            run.store.journals_closed = True
            raise


def worker_name() -> str:
    """Return the name of this process in leases."""
    return f"{platform.node()}/{os.getpid()}"


def sendable(error: BaseException) -> BaseException:
    """Return an error that can be pickled, with its traceback as a note: pickling drops the traceback."""
    origin = f"In a worker process:\n{''.join(traceback.format_exception(error))}"
    try:
        error = pickle.loads(pickle.dumps(error))
    except Exception:
        error = RuntimeError(f"{type(error).__name__}: {error}")
    error.add_note(origin)
    return error
