"""Play a run: start workers, report the endings that they record, and replace lost workers."""

import importlib
import logging
import queue
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from planbook.config import Config, Executor
from planbook.envs import missing_extra
from planbook.errors import BadArgument, BadRun
from planbook.planner import BudgetEnded, Ending, EpisodeStopped, Memory, Roles, Spending, add_cost
from planbook.runs import EpisodeEntry, Run, RunFile
from planbook.sandbox import WorkerFailed
from planbook.spending import load_pricing, spent_so_far, without_recording
from planbook.store import OnEvent
from planbook.workers.control import Execution, Request, Switches, in_threads, send_request
from planbook.workers.open_episodes import OpenEpisodes
from planbook.workers.processes import (
    Job,
    OpenPool,
    WorkerPool,
    WorkerReport,
    cluster_pool,
    local_pool,
    work,
)
from planbook.workers.worker import EpisodeWorker, play_in_threads, worker_factory

LOG = logging.getLogger(__name__)
WORKER_LOST = "A worker process was lost; its episodes continue in another one."
MAX_FAILURES = 6
"""A run ends if workers fail this many times in a row, and no episode ends in between. The number is larger than
MAX_LOST, so an episode that kills its workers is given up before the run ends."""
OnEnding = Callable[[EpisodeEntry, Ending], None]
Played = TypeVar("Played")


def play_episodes(
    run: Run,
    memory: Memory,
    on_ending: OnEnding,
    *,
    execution: Execution | None = None,
    on_event: OnEvent | None = None,
) -> bool:
    """Play the episodes of a run that have no ending yet. Return False if the run was stopped.

    ``memory`` gives planners their knowledge; workers in other processes load the knowledge themselves. ``on_ending``
    is called in the calling thread when an episode ends. ``on_event`` is called with each new event of the episodes
    that this process plays, in the episode's thread.

    Calling this again resumes a run that was stopped or killed. Ended episodes are not played again. In an unfinished
    episode, the recorded part is repeated first.
    """
    execution = execution or Execution()
    driver = RunDriver(run, on_ending, execution)
    return driver.play_here(memory, on_event) if execution.executor == "threads" else driver.play_in_other_processes()


def play_in_order(
    run: Run,
    play: Callable[[EpisodeEntry, EpisodeWorker], Played],
    on_result: Callable[[EpisodeEntry, Played], None],
    execution: Execution,
    *,
    jobs: int = 1,
    roles: Roles | None = None,
) -> bool:
    """Call ``play`` for each episode of a run, in order. Return False if the run was stopped.

    By default, episodes are played one after the other, since an episode may depend on earlier ones. ``on_result`` is
    called in the calling thread with each result of ``play``. ``roles`` replace the models of the run.
    """
    switches, results = execution.switches or Switches(), queue.SimpleQueue[tuple[EpisodeEntry, Played]]()
    entries = iter(run.entries())  # the threads share it

    def play_all(notify: Callable[[], None]) -> None:
        with open_worker() as worker:
            for entry in entries:
                if switches.stopped:
                    raise EpisodeStopped
                results.put((entry, play(entry, worker)))
                notify()

    def report() -> None:
        while not results.empty():
            on_result(*results.get())

    with worker_factory(run, execution.unsafe_no_sandbox, switches, roles) as open_worker:
        return in_threads(min(jobs, len(run.entries())), play_all, switches.stop, report)


class RunDriver:
    """Starts the workers that play a run, and replaces those that are lost. Other processes may join the run."""

    def __init__(self, run: Run, on_ending: OnEnding, execution: Execution) -> None:
        self._run, self._on_ending, self._execution = run, on_ending, execution
        self._switches = execution.switches or Switches()
        self._open_episodes, self._sent_requests = OpenEpisodes(run), set[Request]()
        self._pricing, self._last_row = run.pricing, run.store.last_row
        self._spent_before, self._spent_since = run.meter.spent, Spending()

    def play_here(self, memory: Memory, on_event: OnEvent | None) -> bool:
        """Play in threads of this process."""
        jobs = self._execution.jobs if self._run.config.environment.parallel else 1
        unsafe = self._execution.unsafe_no_sandbox
        finished = play_in_threads(
            self._run, memory, jobs, unsafe, self._switches, on_event, self._report, self._open_episodes
        )
        self._open_episodes.refresh(reread=True)
        self._report()
        self._recount()  # processes that joined the run, even if they were lost, may have asked models
        return finished

    def play_in_other_processes(self) -> bool:
        """Play in other processes. For each of them, a thread here waits until it ends, and replaces it if it is lost.

        Together, they play as many episodes at a time as the number of jobs (``--jobs``). If the environment is not
        parallel, each process plays only one episode at a time. Raises BudgetEnded if the budget is used up.
        """
        jobs = min(self._execution.jobs, len(self._open_episodes))
        if not jobs:
            return True
        with pool_opener(self._execution.executor)(jobs) as pool:
            check_reachable(self._run, pool)
            workers, parallel = min(jobs, pool.capacity), self._run.config.environment.parallel
            threads = [jobs // workers + (index < jobs % workers) if parallel else 1 for index in range(workers)]
            worker_jobs = [create_job(self._run, self._execution, number) for number in threads]

            def work_until_done(_: Callable[[], None]) -> None:
                self._work_until_done(pool, worker_jobs.pop())

            try:
                finished = in_threads(len(worker_jobs), work_until_done, self._stop, self._poll, self._finish_calls)
                self._open_episodes.refresh(reread=True)
                self._report()
                if self._open_episodes:
                    self._run.meter.check_time()
                return finished and not self._open_episodes
            finally:
                with suppress(BadRun):  # if the store is lost, the error that is being raised already says so
                    self._recount()

    def _work_until_done(self, pool: WorkerPool, job: Job) -> None:
        """Run a job in a worker. If the worker is lost, or its sandbox fails, start another worker.

        Raises WorkerFailed after MAX_FAILURES failures in a row between which no episode has ended, or any other error
        that ended a worker. After the run was stopped, no error of a worker is raised.
        """
        failures = 0
        while not self._switches.stopped:
            open_before = len(self._open_episodes)
            try:
                error = pool.work(replace(job, spent=self._run.meter.spent)).error
                if error is None or self._switches.stopped or isinstance(error, EpisodeStopped):
                    return
                raise error
            except WorkerFailed:
                failures = 1 if len(self._open_episodes) < open_before else failures + 1
                if self._switches.stopped:
                    return
                if failures == MAX_FAILURES:
                    raise
                LOG.warning(WORKER_LOST)

    def _report(self) -> None:
        for entry, ending in self._open_episodes.take_ended():
            self._spent_since += Spending(actions=ending.actions)
            self._on_ending(entry, ending)

    def _poll(self) -> None:
        """Report the endings that other processes have recorded, count what they have spent, and check the time."""
        self._open_episodes.refresh()
        self._report()
        if self._run.config.models:
            for row, event in self._run.store.events_of_kind_after(self._last_row, "ask"):
                self._last_row = row
                self._spent_since = add_cost(self._spent_since, event.kind, event.body, self._pricing)
        self._run.meter.recount(self._spent_before + self._spent_since)
        if self._switches.cuts_calls:
            self._stop()
        try:
            self._run.meter.check_time()  # the clocks of workers are behind, because they start later
        except BudgetEnded:
            self._finish_calls()

    def _stop(self) -> None:
        self._switches.stop()
        self._send("stop")

    def _finish_calls(self) -> None:
        self._switches.finish_calls()
        self._send("finish calls")

    def _send(self, request: Request) -> None:
        """Send a request to the workers, through the store, unless it was sent before."""
        if request not in self._sent_requests:
            with suppress(BadRun):
                send_request(self._run.store, request)
                self._sent_requests.add(request)

    def _recount(self) -> None:
        """Count the spending of all processes again, from the store, if the run has models."""
        if self._run.config.models:
            self._run.meter.recount(spent_so_far(self._run.own_events(("act", "ask")), self._pricing))


def create_job(run: Run, execution: Execution, threads: int) -> Job:
    """Return the job for a worker in another process, which will play episodes in ``threads`` threads."""
    prices = execution.prices or run.prices
    return Job(
        run.folder.resolve(),
        run.store.location.resolve() if isinstance(run.store.location, Path) else run.store.location,
        RunFile.read(run.folder),
        threads,
        execution.unsafe_no_sandbox,
        prices and prices.resolve(),
    )


def join_run(run: Run, execution: Execution) -> WorkerReport:
    """Help the process that plays a run, until all episodes have ended or that process has ended."""
    spent = spent_so_far(run.own_events(), load_pricing(execution.prices or run.prices))
    job = create_job(run, execution, execution.jobs if run.config.environment.parallel else 1)
    return work(replace(job, spent=spent), lambda: run.is_running)


def pool_opener(executor: Executor) -> OpenPool:
    """Return the function that opens a pool of workers for an executor: the value of ``--executor``.

    Raises MissingRequirement if Ray is needed but not installed.
    """
    if executor != "ray":
        return local_pool
    try:
        importlib.import_module("ray")
    except ImportError as error:
        raise missing_extra("cluster", "--executor ray") from error
    return cluster_pool


def check_executor(config: Config, execution: Execution) -> None:
    """Check that a run can be played with the chosen executor.

    Raises BadArgument if the run does not allow this executor, or MissingRequirement if the executor is not available.
    """
    if execution.executor == "threads":
        return
    option = f"--executor {execution.executor}"
    if config.learning is not None:
        raise BadArgument(
            f"{option}: building learns from one episode after another, in one process; leave the option out"
        )
    for name in (config.env, *config.models.values()):
        if name.startswith("object:"):
            raise BadArgument(f"{option}: {name} exists only in this process; put it in a file, or play in threads")
    for model in config.models.values():
        if model.startswith("recorded:") and without_recording(model) != model:
            raise BadArgument(f"{option}: {model} is recorded by a single process; leave out one of the two")
    pool_opener(execution.executor)


def check_reachable(run: Run, pool: WorkerPool) -> None:
    """Raise BadArgument if the pool has workers on machines that cannot open the run's store."""
    if pool.machines > 1 and isinstance(run.store.location, Path):
        raise BadArgument(
            f"{run.store.location} is a file on this machine, but the Ray cluster has {pool.machines} machines; keep "
            "the run in PostgreSQL, which all of them can reach: --store postgresql://USER@HOST/DATABASE"
        )
