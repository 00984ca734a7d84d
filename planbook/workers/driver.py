"""Playing a run: start workers on it, report the endings that they record, and see to it that none is missing."""

import queue
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from planbook.config import Config, Executor
from planbook.envs import missing_extra
from planbook.errors import BadArgument, BadRun
from planbook.planner import Ending, EpisodeStopped, Memory, Spent, add_cost
from planbook.runs import Entry, Run, RunFile
from planbook.sandbox import WorkerFailed
from planbook.spending import paid, prices_from, spent_so_far
from planbook.store import Watch
from planbook.workers.episode import EpisodeWorker
from planbook.workers.pool import OpenPlaces, WorkerPlaces, WorkerPool, in_threads, on_this_machine
from planbook.workers.steering import Hosting, Steering, obeyed_before, request, requests
from planbook.workers.worker import (
    PATIENCE,
    Job,
    OpenEpisodes,
    WorkerReport,
    play_in_threads,
    work,
    worker_name,
    workers_of,
)

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

    ``on_ending`` is called in this thread, as each episode ends; ``watch`` at each new event, in the episode's thread,
    where that is one of this process. A run that was stopped or killed is resumed by calling this once more: what ended
    is not played again, and what had begun repeats its recorded part. Workers elsewhere read ``memory`` themselves.
    """
    hosting = hosting or Hosting()
    playing = RunDriver(run, on_ending, hosting)
    if hosting.executor == "threads":
        return playing.here(memory, watch)
    return playing.elsewhere()


def play_in_order(
    run: Run, play: Callable[[Entry, EpisodeWorker], Ending], on_ending: OnEnding, hosting: Hosting
) -> bool:
    """Play all episodes of a run, one after the other, where one depends on those before. Returns False if stopped."""
    steering, endings = hosting.steering or Steering(), queue.SimpleQueue[tuple[Entry, Ending]]()

    def one(news: Callable[[], None]) -> None:
        with hire() as worker:
            for entry in run.entries():
                if steering.stopped:
                    raise EpisodeStopped
                endings.put((entry, play(entry, worker)))
                news()

    def look() -> None:
        while not endings.empty():
            on_ending(*endings.get())

    with workers_of(run, hosting.unsafe_no_sandbox, steering) as hire:
        return in_threads(1, one, steering, look)


class RunDriver:
    """A run that is played by workers of one kind, and by whoever joins them."""

    def __init__(self, run: Run, on_ending: OnEnding, hosting: Hosting) -> None:
        self._run, self._on_ending, self._hosting = run, on_ending, hosting
        self._steering = hosting.steering or Steering()
        self._open, self._obeyed = OpenEpisodes(run), obeyed_before(run.store)
        self._prices, self._row = prices_from(hosting.prices), run.store.last_row
        self._before, self._seen, self._reported = run.meter.spent, Spent(), Spent()
        self._names, self._exact = {worker_name()}, True
        self._failed, self._stopped = 0, False

    def here(self, memory: Memory, watch: Watch | None) -> bool:
        """Play in threads of this process."""
        jobs = self._hosting.jobs if self._run.config.environment.parallel else 1
        unsafe = self._hosting.unsafe_no_sandbox
        finished = play_in_threads(self._run, memory, jobs, unsafe, self._steering, watch, self._report, self._open)
        self._open.refresh(anew=True)
        self._report()
        if self._joined():
            self._recount()
        return finished

    def elsewhere(self) -> bool:
        """Play in other processes."""
        jobs = min(self._hosting.jobs, len(self._open))
        if not jobs:
            return True
        with open_places(self._hosting.executor)(jobs) as places:
            check_reachable(self._run, places)
            tasks = self._jobs(jobs, min(jobs, places.most))
            pool = WorkerPool(places, work, tasks, self._take, self._replace, self._look, self._stop)
            try:
                finished = pool.carry_out() and not self._stopped
                self._open.refresh(anew=True)
                self._report()
                return finished
            finally:
                with suppress(BadRun):  # what is raised already says why the store is lost
                    self._settle()

    def _jobs(self, jobs: int, workers: int) -> list[Job]:
        """Spread so many episodes side by side over workers."""
        parallel = self._run.config.environment.parallel
        threads = [jobs // workers + (number < jobs % workers) if parallel else 1 for number in range(workers)]
        return [job_of(self._run, self._hosting, threads=each, obeyed=self._obeyed) for each in threads]

    def _report(self) -> None:
        for entry, ending in self._open.news():
            self._seen += Spent(actions=ending.actions)
            self._on_ending(entry, ending)

    def _look(self) -> None:
        """Report endings, and what other processes have spent meanwhile."""
        self._open.refresh()
        self._report()
        if self._run.config.models:
            for row, event in self._run.store.after(self._row, "ask"):
                self._row = row
                self._seen = add_cost(self._seen, event.kind, event.body, self._prices)
        self._run.meter.recount(self._before + self._seen)
        if self._steering.stopped:
            self._stop()

    def _take(self, job: Job, report: WorkerReport) -> Sequence[Job]:
        """Count what a worker reports. Raises its error, unless all are stopping; a failed sandbox is tried again."""
        self._names.add(report.worker)
        self._reported += report.spent
        if isinstance(report.error, EpisodeStopped):
            self._stopped = True
        elif isinstance(report.error, WorkerFailed) and self._failed + 1 < PATIENCE:
            self._failed += 1
            return self._replace(job)
        elif report.error is not None and not self._steering.stopped:
            raise report.error
        return ()

    def _replace(self, job: Job) -> Sequence[Job]:
        """Let another worker do what is left of a job: whatever episode it had leased is open again."""
        self._exact = False
        return () if self._steering.stopped else (replace(job, spent=self._run.meter.spent),)

    def _stop(self) -> None:
        """Ask the workers to stop, by the store."""
        self._steering.stop()
        with suppress(BadRun):
            if "stop" not in requests(self._run.store)[self._obeyed :]:
                request(self._run.store, "stop")

    def _settle(self) -> None:
        """Count what the workers have spent: by their reports, or by the store if some were lost or joined."""
        if self._exact and not self._joined():
            self._run.meter.recount(self._before + self._reported)
        else:
            self._recount()

    def _joined(self) -> bool:
        """Return whether workers that joined the run have played."""
        return not self._names.issuperset(self._run.store.leases.workers())

    def _recount(self) -> None:
        self._run.meter.recount(spent_so_far(self._run.own_events(), self._prices))


def job_of(run: Run, hosting: Hosting, *, threads: int, obeyed: int = 0) -> Job:
    """Return the input of a worker in another process."""
    return Job(
        run.folder.resolve(),
        run.store.place.resolve() if isinstance(run.store.place, Path) else run.store.place,
        RunFile.read(run.folder),
        threads,
        hosting.unsafe_no_sandbox,
        hosting.prices and hosting.prices.resolve(),
        run.meter.spent,
        obeyed,
    )


def join_run(run: Run, hosting: Hosting) -> WorkerReport:
    """Play episodes of a run beside the process that plays it, until none is open or that process has ended."""
    spent = spent_so_far(run.own_events(), prices_from(hosting.prices))
    job = job_of(run, hosting, threads=hosting.jobs if run.config.environment.parallel else 1)
    return work(replace(job, spent=spent, obeyed=obeyed_before(run.store)), lambda: run.is_played)


def open_places(executor: Executor) -> OpenPlaces:
    """Return where an executor's workers run. Raises MissingRequirement."""
    return PLACES[executor]()


def _on_ray() -> OpenPlaces:
    from planbook.workers.cluster import check_cluster, on_the_cluster

    try:
        check_cluster()
    except ImportError as error:
        raise missing_extra("cluster", "--executor ray") from error
    return on_the_cluster


PLACES: Mapping[Executor, Callable[[], OpenPlaces]] = {"processes": lambda: on_this_machine, "ray": _on_ray}


def check_executor(config: Config, hosting: Hosting) -> None:
    """Check that a run can be played as it is asked for, before it begins. Raises BadArgument, MissingRequirement."""
    if hosting.executor == "threads":
        return
    asked = f"--executor {hosting.executor}"
    if config.learning is not None:
        raise BadArgument(
            f"{asked}: building learns from one episode after another, in one process; leave the option out"
        )
    for name in (config.env, *config.models.values()):
        if name.startswith("object:"):
            raise BadArgument(f"{asked}: {name} exists in this process only; put it in a file, or play in threads")
    for model in config.models.values():
        if model.startswith("recorded:") and paid(model) != model:
            raise BadArgument(f"{asked}: {model} writes its recording from one process; leave one of the two out")
    open_places(hosting.executor)


def check_reachable(run: Run, places: WorkerPlaces) -> None:
    """Check that workers on other machines can open the store. Raises BadArgument."""
    if places.machines > 1 and isinstance(run.store.place, Path):
        raise BadArgument(
            f"{run.store.place} is a file of this machine, and the Ray cluster has {places.machines} machines; keep "
            "the run in PostgreSQL, which all of them can reach: --store postgresql://USER@HOST/DATABASE"
        )
