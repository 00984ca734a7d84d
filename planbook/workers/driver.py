"""Play a run: start workers, report the endings that they record, and replace lost workers."""

import logging
import queue
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from planbook.config import Config, Executor
from planbook.envs import missing_extra
from planbook.errors import BadArgument, BadRun
from planbook.planner import Ending, EpisodeStopped, Memory, Spent, add_cost
from planbook.runs import Entry, Run, RunFile
from planbook.sandbox import WorkerFailed
from planbook.spending import prices_from, spent_so_far, without_recording
from planbook.store import Watch
from planbook.workers.episode import EpisodeWorker
from planbook.workers.processes import OpenPlaces, WorkerLost, WorkerPlaces, on_this_machine
from planbook.workers.steering import Hosting, Steering, count_handled, request, requests
from planbook.workers.threads import in_threads
from planbook.workers.worker import (
    MAX_LOST,
    Job,
    OpenEpisodes,
    WorkerReport,
    play_in_threads,
    work,
    worker_name,
    workers_of,
)

LOG = logging.getLogger(__name__)
LOST = "A worker process was lost; its episodes continue in another."
NOT_STARTED = "A worker process ended before it could begin; another is started."
NEVER_STARTED = "two worker processes ended before they could begin; is there enough memory?"
OnEnding = Callable[[Entry, Ending], None]


def play_episodes(
    run: Run,
    memory: Memory,
    on_ending: OnEnding,
    *,
    hosting: Hosting | None = None,
    watch: Watch | None = None,
) -> bool:
    """Play every episode of a run that has no ending yet. Returns False if it was stopped.

    ``on_ending`` is called in this thread when an episode ends; ``watch`` is called with each new event, in the
    episode's thread, if this process plays it. Call this again to resume a run that was stopped or killed: ended
    episodes are not played again, and unfinished ones repeat their recorded part. Workers in other processes read the
    memory themselves.
    """
    hosting = hosting or Hosting()
    driver = RunDriver(run, on_ending, hosting)
    return driver.play_here(memory, watch) if hosting.executor == "threads" else driver.play_elsewhere()


def play_in_order(
    run: Run, play: Callable[[Entry, EpisodeWorker], Ending], on_ending: OnEnding, hosting: Hosting
) -> bool:
    """Play all episodes of a run in order, where each depends on those before. Returns False if it was stopped."""
    steering, endings = hosting.steering or Steering(), queue.SimpleQueue[tuple[Entry, Ending]]()

    def play_all(notify: Callable[[], None]) -> None:
        with open_worker() as worker:
            for entry in run.entries():
                if steering.stopped:
                    raise EpisodeStopped
                endings.put((entry, play(entry, worker)))
                notify()

    def report() -> None:
        while not endings.empty():
            on_ending(*endings.get())

    with workers_of(run, hosting.unsafe_no_sandbox, steering) as open_worker:
        return in_threads(1, play_all, steering.stop, report)


class RunDriver:
    """Drives the workers that play a run; other processes may join them."""

    def __init__(self, run: Run, on_ending: OnEnding, hosting: Hosting) -> None:
        self._run, self._on_ending, self._hosting = run, on_ending, hosting
        self._steering = hosting.steering or Steering()
        self._open, self._handled = OpenEpisodes(run), count_handled(run.store)
        self._price, self._row = run.price, run.store.last_row
        self._before, self._seen = run.meter.spent, Spent()

    def play_here(self, memory: Memory, watch: Watch | None) -> bool:
        """Play in threads of this process."""
        jobs = self._hosting.jobs if self._run.config.environment.parallel else 1
        unsafe = self._hosting.unsafe_no_sandbox
        finished = play_in_threads(self._run, memory, jobs, unsafe, self._steering, watch, self._report, self._open)
        self._open.refresh(reread=True)
        self._report()
        if {*self._run.store.leases.workers()} - {worker_name()}:  # other processes have joined the run
            self._recount()
        return finished

    def play_elsewhere(self) -> bool:
        """Play in other processes, each watched by a thread of this one."""
        jobs = min(self._hosting.jobs, len(self._open))
        if not jobs:
            return True
        with places_opener(self._hosting.executor)(jobs) as places:
            check_reachable(self._run, places)
            shares = self._jobs(jobs, min(jobs, places.capacity))

            def keep_working(_: Callable[[], None]) -> None:
                self._keep_working(places, shares.pop())

            try:
                finished = in_threads(len(shares), keep_working, self._stop, self._poll)
                self._open.refresh(reread=True)
                self._report()
                return finished and not self._open
            finally:
                with suppress(BadRun):  # the error under way already says why the store is lost
                    self._recount()

    def _jobs(self, jobs: int, workers: int) -> list[Job]:
        """Divide the number of parallel episodes among the workers."""
        parallel = self._run.config.environment.parallel
        threads = [jobs // workers + (index < jobs % workers) if parallel else 1 for index in range(workers)]
        return [job_of(self._run, self._hosting, number) for number in threads]

    def _keep_working(self, places: WorkerPlaces, job: Job) -> None:
        """Have a job carried out; a worker that is lost, or whose sandbox fails, is replaced."""
        not_started = failures = 0
        while not self._steering.stopped:
            try:
                self._work(places, job)
            except WorkerLost as lost:
                LOG.warning(LOST if lost.begun else NOT_STARTED)
                not_started = 0 if lost.begun else not_started + 1
                if not_started > 1:  # one alone may have been killed
                    raise WorkerFailed(NEVER_STARTED) from lost
            except WorkerFailed:
                failures += 1
                if failures == MAX_LOST:
                    raise
            else:
                return

    def _work(self, places: WorkerPlaces, job: Job) -> None:
        """Have one worker carry out a job. Raises its error unless it was stopped, WorkerLost, ClusterLost."""
        error = places.work(replace(job, spent=self._run.meter.spent)).error
        if error is not None and not self._steering.stopped and not isinstance(error, EpisodeStopped):
            raise error

    def _report(self) -> None:
        for entry, ending in self._open.take_ended():
            self._seen += Spent(actions=ending.actions)
            self._on_ending(entry, ending)

    def _poll(self) -> None:
        """Report new endings, and count what other processes have spent."""
        self._open.refresh()
        self._report()
        if self._run.config.models:
            for row, event in self._run.store.after(self._row, "ask"):
                self._row = row
                self._seen = add_cost(self._seen, event.kind, event.body, self._price)
        self._run.meter.recount(self._before + self._seen)
        if self._steering.stopped:
            self._stop()

    def _stop(self) -> None:
        """Ask the workers to stop, through the store."""
        self._steering.stop()
        with suppress(BadRun):
            if "stop" not in requests(self._run.store)[self._handled :]:
                request(self._run.store, "stop")

    def _recount(self) -> None:
        """Count the spending of all processes again, from the store."""
        self._run.meter.recount(spent_so_far(self._run.own_events(), self._price))


def job_of(run: Run, hosting: Hosting, threads: int) -> Job:
    """Return the input of a worker in another process."""
    prices = hosting.prices or run.prices
    return Job(
        run.folder.resolve(),
        run.store.place.resolve() if isinstance(run.store.place, Path) else run.store.place,
        RunFile.read(run.folder),
        threads,
        hosting.unsafe_no_sandbox,
        prices and prices.resolve(),
    )


def join_run(run: Run, hosting: Hosting) -> WorkerReport:
    """Play episodes of a run that another process plays, until none is open or that process has ended."""
    spent = spent_so_far(run.own_events(), prices_from(hosting.prices or run.prices))
    job = job_of(run, hosting, hosting.jobs if run.config.environment.parallel else 1)
    return work(replace(job, spent=spent), lambda: run.is_played)


def places_opener(executor: Executor) -> OpenPlaces:
    """Return the function that opens an executor's places. Raises MissingRequirement."""
    if executor != "ray":
        return on_this_machine

    from planbook.workers.cluster import check_cluster, on_the_cluster

    try:
        check_cluster()
    except ImportError as error:
        raise missing_extra("cluster", "--executor ray") from error
    return on_the_cluster


def check_executor(config: Config, hosting: Hosting) -> None:
    """Check that an executor can play a run, before it begins. Raises BadArgument, MissingRequirement."""
    if hosting.executor == "threads":
        return
    option = f"--executor {hosting.executor}"
    if config.learning is not None:
        raise BadArgument(
            f"{option}: building learns from one episode after another, in one process; leave the option out"
        )
    for name in (config.env, *config.models.values()):
        if name.startswith("object:"):
            raise BadArgument(f"{option}: {name} exists in this process only; put it in a file, or play in threads")
    for model in config.models.values():
        if model.startswith("recorded:") and without_recording(model) != model:
            raise BadArgument(f"{option}: {model} writes its recording from one process; leave one of the two out")
    places_opener(hosting.executor)


def check_reachable(run: Run, places: WorkerPlaces) -> None:
    """Check that workers on other machines can open the store. Raises BadArgument."""
    if places.machines > 1 and isinstance(run.store.place, Path):
        raise BadArgument(
            f"{run.store.place} is a file on this machine, and the Ray cluster has {places.machines} machines; keep "
            "the run in PostgreSQL, which all of them can reach: --store postgresql://USER@HOST/DATABASE"
        )
