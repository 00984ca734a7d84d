"""Playing one episode of a run to its end, from its beginning or from what is recorded of it."""

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

from planbook.config import Config
from planbook.envs import Environment, EnvironmentBroken, EnvsError, MissingRequirement
from planbook.knowledge import memory_of
from planbook.planner import (
    Ending,
    Episode,
    EpisodeSettings,
    EpisodeStopped,
    Journal,
    JournalMismatch,
    Memory,
    Meter,
    Outcome,
    Roles,
    Spent,
    method,
    play,
)
from planbook.planner.roles import SILENT, no_model
from planbook.run import DIVERGED, Entry, Run, RunFile, index_of, set_aside
from planbook.sandbox import Sandbox
from planbook.spending import prices_from
from planbook.store import Place, Store, Watch, started_over
from planbook.workers.models import roles_of
from planbook.workers.pool import in_threads
from planbook.workers.steering import Control, Steering


class EpisodeWorker:
    """Plays episodes in one thread: with a sandbox and models that threads share, and an environment of its own.

    ``guard`` is called before every action, and may raise EpisodeStopped and BudgetEnded.
    """

    def __init__(
        self, config: Config, sandbox: Sandbox, guard: Callable[[], None] = lambda: None, roles: Roles = SILENT
    ) -> None:
        self.sandbox, self.guard, self.roles = sandbox, guard, roles
        self._config = config
        self._environment: Environment | None = None

    def environment(self) -> Environment:
        """Return the worker's environment. Raises EnvironmentBroken if it cannot be made, MissingRequirement."""
        if self._environment is None:
            make = self._config.world
            try:
                self._environment = make(self._config.world_options)
            except EnvsError:
                raise
            except Exception as error:
                raise EnvironmentBroken(
                    f"{make.__name__} could not be made: {type(error).__name__}: {error}"
                ) from error
        return self._environment

    def drop_environment(self) -> None:
        """Close the environment; the next episode gets a new one."""
        if self._environment is not None:
            self._environment.close()
            self._environment = None

    def play(self, entry: Entry, path: str, journal: Journal, memory: Memory | None = None) -> Ending:
        """Play an episode against a journal. Raises JournalMismatch and EpisodeStopped."""
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
        )
        return play(episode, strategy.play, strategy.options.model_validate(config.planner_options))


def play_episode(run: Run, memory: Memory, entry: Entry, worker: EpisodeWorker, watch: Watch | None = None) -> Ending:
    """Play one episode to its end; a worker whose episode came out BROKEN gets a new environment.

    Where the recorded part of an episode cannot be repeated, that is counted as BROKEN, and the episode starts over.
    """
    while True:
        path, journal, ending = _attempt(run, entry, watch)
        if ending is None:
            try:
                ending = worker.play(entry, path, journal, memory)
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
    """Record an episode that nobody can play as BROKEN, unless it has an ending."""
    path, journal, ending = _attempt(run, entry)
    return ending or _record_broken(journal, path, Outcome.BROKEN.value, message)


def _attempt(run: Run, entry: Entry, watch: Watch | None = None) -> tuple[str, Journal, Ending | None]:
    """Return the scope in which an episode is to be played, its journal, and the ending that it has already.

    After an attempt that diverged, or was set aside, it is a new scope.
    """
    path, restarts, aside = entry.path, 0, set_aside(run)
    while True:
        journal = run.journal(path, watch)
        recorded = journal.get(path, "outcome", 0)
        ending = None if recorded is None else Ending.model_validate(recorded)
        if ending is None or (ending.cause != DIVERGED and path not in aside):
            return path, journal, ending
        restarts += 1
        path = started_over(entry.path, restarts)


def _record_broken(journal: Journal, path: str, cause: str, message: str) -> Ending:
    ending = Ending(outcome=Outcome.BROKEN, cause=cause, message=message)
    journal.put(path, "outcome", 0, ending.model_dump(mode="json"))
    return ending


def _record_versions(run: Run, environment: Environment) -> None:
    """Record the versions that an environment knows only after an episode has begun.

    Once a run, and again where a later invocation finds them changed (a browser that was updated meanwhile).
    """
    if run.noted_versions:
        return
    run.noted_versions = True
    now = dict(environment.versions())
    run.store.put_once("run", "versions", 0, lambda: now)
    recorded = [dict(row.body) for row in run.store.events("run", "versions")]
    if now != recorded[-1]:
        run.store.put_once("run", "versions", len(recorded), lambda: now)


IDLE_SECONDS = 0.1
"""Time between two attempts to lease an episode, while all open ones are leased to others."""
PATIENCE = 3
"""Number of workers in a row that may be lost on an episode without getting further; the last one plays it alone."""
LOST = f"{PATIENCE} worker processes in a row ended while they played this episode"


class OpenEpisodes:
    """The episodes of a run without an ending, as far as the store was read. Threads may share it."""

    def __init__(self, run: Run) -> None:
        self._run, self._aside, self._lock = run, set_aside(run), threading.Lock()
        self._ended = threading.Event()
        self._open = {entry.index: entry for entry in run.entries()}
        self._row = 0
        self.refresh()

    def refresh(self, *, anew: bool = False) -> list[tuple[Entry, Ending]]:
        """Read the endings that were recorded since the last time, and return them; ``anew`` reads all once more."""
        found: list[tuple[Entry, Ending]] = []
        with self._lock:
            self._row = 0 if anew else self._row
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
    """Lets threads play side by side, or one of them alone, if its episode may end the process."""

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


class EpisodeQueue:
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
        losses = store.leases.losses(entry.index, lambda: store.count(entry.path))
        if losses.lost:
            store.ledger.release_below(entry.path)
        if losses.lost >= PATIENCE:
            give_up(self._run, entry, LOST)
        else:
            with self._solitude.entered(alone=losses.lost == PATIENCE - 1), self._orderly(entry):
                store.leases.take(entry.index, self._name, losses)
                play(entry)
        self.open.close(entry)
        return True

    @contextmanager
    def _orderly(self, entry: Entry) -> Iterator[None]:
        """Give the lease back if an episode is left without an ending by a worker that was not lost."""
        try:
            yield
        except BaseException:
            self._run.store.leases.give_back(entry.index)
            raise


@dataclass(frozen=True)
class Job:
    """The input of a worker in another process. ``spent`` is what the run has spent so far.

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
    """Number of requests in the store that were obeyed by earlier invocations."""


class WorkerReport(NamedTuple):
    """The result of a worker in another process: its name, its spending, and the error that ended it."""

    worker: str
    spent: Spent = Spent()
    error: BaseException | None = None

    def episodes(self, store: Store) -> int:
        """Return the number of episodes that it played."""
        return store.leases.workers().count(self.worker)


def work(job: Job, goes_on: Callable[[], bool] | None = None) -> WorkerReport:
    """Play open episodes of a run, in this process, until there are none, or somebody stops the run."""
    try:
        with closing(Store(job.store)) as store:
            run = Run(job.folder, job.file, store)
            run.meter = Meter(job.file.budget, job.spent, prices_from(job.prices), store.ledger)
            return _worked(run, job, goes_on)
    except BaseException as error:
        return WorkerReport(worker_name(), error=sendable(error))


def _worked(run: Run, job: Job, goes_on: Callable[[], bool] | None) -> WorkerReport:
    steering = Steering()
    control = Control(run, steering, job.obeyed, leads=False, goes_on=goes_on or (lambda: True))
    try:
        with control.listens():
            finished = play_in_threads(run, memory_of(run.config), job.threads, job.unsafe_no_sandbox, steering)
    except BaseException as error:
        return WorkerReport(worker_name(), run.meter.own, sendable(error))
    return WorkerReport(worker_name(), run.meter.own, None if finished else EpisodeStopped())


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
    leases = EpisodeQueue(run, steering)
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
) -> Iterator[Callable[[], AbstractContextManager[EpisodeWorker]]]:
    """Open a sandbox, and give a function that opens a worker in it; ``silent`` ones ask no model and spend nothing."""

    def guard() -> None:
        steering.guard()
        if not silent:
            run.meter.before_action()

    with Sandbox(modules=run.config.world.modules, unsafe_no_sandbox=unsafe_no_sandbox) as sandbox:
        roles = Roles(no_model, run.config.sampling) if silent else roles_of(run, steering.stops)
        roles = roles.guarded(steering.guard)

        @contextmanager
        def hire() -> Iterator[EpisodeWorker]:
            worker = EpisodeWorker(run.config, sandbox, guard, roles)
            try:
                yield worker
            finally:
                worker.drop_environment()

        yield hire


def worker_name() -> str:
    """Return the name of this process in leases."""
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
