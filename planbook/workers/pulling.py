"""The function that every worker runs: lease the next open episode in the store, play it, record it.

Threads of the driver, worker processes, Ray actors and other machines all run it, on the same store, until no episode
is open.
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

from planbook.knowledge.knowing import memory_of
from planbook.planner import Ending, EpisodeStopped, Memory, Meter, Roles, Spent
from planbook.planner.asking import no_model
from planbook.run import DIVERGED, Entry, Run, RunFile, index_of, set_aside
from planbook.sandbox import Sandbox
from planbook.spending import prices_from
from planbook.store import Place, Store, Watch
from planbook.workers.episode import Worker, give_up, play_episode
from planbook.workers.models import roles_of
from planbook.workers.steering import Control, Steering
from planbook.workers.threads import in_threads

IDLE_SECONDS = 0.1
"""Time between two looks for an episode, while all open ones are leased to others."""
PATIENCE = 3
"""Number of workers in a row that may be lost on an episode without getting further; the last one plays it alone."""
LOST = f"{PATIENCE} worker processes in a row ended while they played this episode"


class OpenEpisodes:
    """The episodes of a run that have no ending yet, as far as the store was read. Threads may share it."""

    def __init__(self, run: Run) -> None:
        self._run, self._aside, self._lock = run, set_aside(run), threading.Lock()
        self._ended = threading.Event()
        self._open = {entry.index: entry for entry in run.entries()}
        self._row = 0
        self.refresh()

    def refresh(self) -> list[tuple[Entry, Ending]]:
        """Read the endings that were recorded since the last time, and return them."""
        found: list[tuple[Entry, Ending]] = []
        with self._lock:
            for row, event in self._run.store.after(self._row, "outcome"):
                self._row = row
                ending, index = Ending.model_validate(event.body), index_of(event.scope)
                if index in self._open and ending.cause != DIVERGED and event.scope not in self._aside:
                    found.append((self._open.pop(index), ending))
        return found

    def close(self, entry: Entry) -> None:
        """Count an episode as ended: in PostgreSQL an event may be committed after one with a larger id was read."""
        with self._lock:
            self._open.pop(entry.index, None)
        self._ended.set()

    def wait(self) -> None:
        """Wait until another thread has ended an episode, or another process may have."""
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


class Solitude:
    """Lets the threads of a process play side by side, or one of them alone: its episode may end the process."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._playing, self._alone = 0, False

    @contextmanager
    def entered(self, *, alone: bool) -> Iterator[None]:
        """Wait until the thread may play."""
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


class Leases:
    """Leases the open episodes of a run to the threads of this process."""

    def __init__(self, run: Run, steering: Steering) -> None:
        self._run, self._steering = run, steering
        self._solitude, self.open = Solitude(), OpenEpisodes(run)
        self._name = worker_name()

    def play_all(self, play: Callable[[Entry], Ending], on_ending: Callable[[], None] = lambda: None) -> None:
        """Lease and play one episode after the other until all have ended. Raises EpisodeStopped, and what it raises.

        ``on_ending`` is called after each.
        """
        while self.open:
            for entry in self.open:
                if self._steering.stopped:
                    raise EpisodeStopped
                with self._run.store.hold(entry.index) as held:
                    if held and self._play(entry, play):
                        on_ending()
                        break
            else:
                self.open.wait()

    def _play(self, entry: Entry, play: Callable[[Entry], Ending]) -> bool:
        """Play an episode that is held, unless another worker has played it meanwhile."""
        self.open.refresh()
        if entry not in self.open:
            return False
        store = self._run.store
        lost = store.leases.take(entry.index, self._name, lambda: store.count(entry.path))
        if lost:
            store.ledger.release_below(entry.path)
        if lost >= PATIENCE:
            give_up(self._run, entry, LOST)
        else:
            with self._solitude.entered(alone=lost == PATIENCE - 1), self._orderly(entry):
                play(entry)
        self.open.close(entry)
        return True

    @contextmanager
    def _orderly(self, entry: Entry) -> Iterator[None]:
        """Give the lease back where an episode ends without an ending, but its worker goes on or ends by itself."""
        try:
            yield
        except BaseException:
            self._run.store.leases.give_back(entry.index)
            raise


@dataclass(frozen=True)
class Job:
    """What a worker on its own gets to know. ``spent`` is what was spent so far, by anybody.

    Files that ``file`` names (a library, an environment of one's own) have to be at the same place where it runs.
    """

    folder: Path
    store: Place
    file: RunFile
    threads: int = 1
    unsafe_no_sandbox: bool = False
    prices: Path | None = None
    spent: Spent = field(default_factory=Spent)
    obeyed: int = 0
    """Number of requests in the store that are over."""


class Report(NamedTuple):
    """What a worker on its own comes back with: its name, what it spent, and the error that ended it."""

    worker: str
    spent: Spent = Spent()
    error: BaseException | None = None

    def episodes(self, store: Store) -> int:
        """Return the number of episodes that it played."""
        return store.leases.workers().count(self.worker)


def work(job: Job, goes_on: Callable[[], bool] | None = None) -> Report:
    """Play open episodes of a run, in this process, until there are none, or somebody stops the run."""
    try:
        with closing(Store(job.store)) as store:
            run = Run(job.folder, job.file, store)
            run.meter = Meter(job.file.budget, job.spent, prices_from(job.prices), store.ledger)
            return _worked(run, job, goes_on)
    except BaseException as error:
        return Report(worker_name(), error=sendable(error))


def _worked(run: Run, job: Job, goes_on: Callable[[], bool] | None) -> Report:
    steering = Steering()
    control = Control(run, steering, job.obeyed, leads=False, goes_on=goes_on or (lambda: True))
    try:
        with control.listens():
            finished = play_in_threads(run, memory_of(run.config), job.threads, job.unsafe_no_sandbox, steering)
    except BaseException as error:
        return Report(worker_name(), run.meter.own, sendable(error))
    return Report(worker_name(), run.meter.own, None if finished else EpisodeStopped())


def play_in_threads(
    run: Run,
    memory: Memory,
    count: int,
    unsafe_no_sandbox: bool,
    steering: Steering,
    watch: Watch | None = None,
    look: Callable[[], None] = lambda: None,
) -> bool:
    """Play the open episodes of a run in threads of this process. Returns False if the run was stopped.

    ``look`` is called in this thread now and then, and after each ending.
    """
    leases = Leases(run, steering)
    if not leases.open:
        return True
    with workers_of(run, unsafe_no_sandbox, steering) as hire:

        def one(news: Callable[[], None]) -> None:
            with hire() as worker:
                leases.play_all(lambda entry: play_episode(run, memory, entry, worker, watch), news)

        return in_threads(min(count, len(leases.open)), one, steering, look)


@contextmanager
def workers_of(
    run: Run, unsafe_no_sandbox: bool, steering: Steering, *, silent: bool = False
) -> Iterator[Callable[[], AbstractContextManager[Worker]]]:
    """Open a sandbox, and return what hires a worker for a thread; ``silent`` ones ask nobody and spend nothing."""

    def guard() -> None:
        steering.guard()
        if not silent:
            run.meter.before_action()

    with Sandbox(modules=run.config.world.modules, unsafe_no_sandbox=unsafe_no_sandbox) as sandbox:
        roles = Roles(no_model, run.config.sampling) if silent else roles_of(run, steering.stops)
        roles = roles.guarded(steering.guard)

        @contextmanager
        def hire() -> Iterator[Worker]:
            worker = Worker(run.config, sandbox, guard, roles)
            try:
                yield worker
            finally:
                worker.drop_environment()

        yield hire


def worker_name() -> str:
    """Return the name by which leases know this process."""
    return f"{platform.node()}/{os.getpid()}"


def sendable(error: BaseException) -> BaseException:
    """Return an error that can be pickled, with a note of where it was raised, which does not travel by itself."""
    where = f"In a worker process:\n{''.join(traceback.format_exception(error))}"
    try:
        error = pickle.loads(pickle.dumps(error))
    except Exception:
        error = RuntimeError(f"{type(error).__name__}: {error}")
    error.add_note(where)
    return error
