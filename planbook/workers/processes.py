"""Workers in other processes: new processes on this machine, or actors of a Ray cluster.

Ray is imported only when it is used. Ray ends this whole process about a minute after the cluster's head node dies; the
run can then be resumed.
"""

import importlib
import json
import logging
import os
import pickle
import subprocess
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, closing, contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple, NoReturn

from planbook.envs import MissingRequirement
from planbook.errors import BadRun
from planbook.knowledge import memory_of
from planbook.planner import EpisodeStopped, Meter, Spending
from planbook.runs import Run, RunFile
from planbook.sandbox import WorkerFailed
from planbook.spending import load_pricing
from planbook.store import Store, StoreLocation
from planbook.wording import first_line
from planbook.workers.control import RequestListener
from planbook.workers.open_episodes import process_name
from planbook.workers.worker import play_in_threads


@dataclass(frozen=True)
class Job:
    """Everything that a worker in another process needs to play a run.

    ``folder`` is the run's folder, ``file`` the content of its run.json, and ``store`` the location of its events.
    ``threads`` is the number of episodes that the worker plays at a time. ``prices`` is the path of a price table, and
    ``spent`` what the run has spent so far. A file that run.json names, such as a library or an environment, must have
    the same path on the worker's machine.
    """

    folder: Path
    store: StoreLocation
    file: RunFile
    threads: int = 1
    unsafe_no_sandbox: bool = False
    prices: Path | None = None
    spent: Spending = field(default_factory=Spending)


class WorkerReport(NamedTuple):
    """The result of a worker in another process: its name, what it has spent, and the error that ended it, if any."""

    worker: str
    spent: Spending = Spending()
    error: BaseException | None = None


def work(job: Job, leader_is_running: Callable[[], bool] = lambda: True) -> WorkerReport:
    """Play open episodes of a run in this process, until all episodes have ended or the run is stopped.

    ``leader_is_running`` returns False once the leader (the process whose command began or resumed the run) has ended.
    """
    meter, error = Meter(), None
    try:
        with closing(Store(job.store)) as store:
            run = Run(job.folder, job.file, store)
            run.meter = meter = Meter(job.file.budget, job.spent, load_pricing(job.prices), store.ledger)
            _play_job(run, job, leader_is_running)
    except BaseException as raised:
        error = picklable(raised)
    return WorkerReport(process_name(), meter.spent_here, error)


def _play_job(run: Run, job: Job, leader_is_running: Callable[[], bool]) -> None:
    """Play open episodes. Raises EpisodeStopped if the run was stopped, or BadRun if its leader has ended."""
    listener = RequestListener(run, leader_is_running)
    with listener.listening():
        finished = play_in_threads(run, memory_of(run.config), job.threads, job.unsafe_no_sandbox, listener.switches)
    if not finished and listener.abandoned:
        remedy = f"resume it with: planbook run --resume {run.folder}"
        raise BadRun(f"the process that played {run.folder} ended before the run was finished; {remedy}")
    if not finished:
        raise EpisodeStopped


def picklable(error: BaseException) -> BaseException:
    """Return the error, or a similar one that can be pickled, with a note: its traceback, which pickling drops."""
    note = f"In a worker process:\n{''.join(traceback.format_exception(error))}"
    try:
        error = pickle.loads(pickle.dumps(error))
    except Exception:
        error = RuntimeError(f"{type(error).__name__}: {error}")
    error.add_note(note)
    return error


# Pools of workers


NO_REPORT = "worker processes ended again and again; is there enough memory?"


class WorkerLost(WorkerFailed):
    """The process of a worker has died, or cannot be reached."""


class WorkerPool(NamedTuple):
    """Runs up to ``capacity`` workers at the same time, on ``machines`` machines.

    ``work`` is a function that runs a job in a new worker and returns the worker's report. It raises WorkerLost if the
    worker is lost.
    """

    capacity: int
    work: Callable[[Job], WorkerReport]
    machines: int = 1


OpenPool = Callable[[int], AbstractContextManager[WorkerPool]]
"""A function that opens a pool of workers. Its argument is the maximum number of workers."""


# New processes on this machine


@contextmanager
def local_pool(jobs: int) -> Iterator[WorkerPool]:
    """Yield a pool with a worker for each core, but at most ``jobs`` workers."""
    processes: list[subprocess.Popen[bytes]] = []
    try:
        yield WorkerPool(min(jobs, len(os.sched_getaffinity(0))), partial(work_in_process, processes=processes))
    finally:
        for process in processes:  # all processes have ended already, unless Ctrl-C was pressed twice
            process.kill()


WORKER_PROGRAM = """
import gc, json, sys
gc.disable()
sys.path[:] = json.loads(sys.stdin.buffer.readline() or sys.exit())
from planbook.workers.processes import serve
gc.freeze()
gc.enable()
serve()
"""
"""Runs in a worker process. It exempts the imported modules from garbage collection.

``multiprocessing`` is not used, because it would import the user's main program in the worker, too."""


def work_in_process(job: Job, processes: list["subprocess.Popen[bytes]"]) -> Any:
    """Run a job in a new process, and return its report. The process is added to ``processes``.

    Raises WorkerLost if the process ends without a report.
    """
    report = b""
    with (
        suppress(BrokenPipeError),  # the process ended before it read its job
        subprocess.Popen(
            [sys.executable, "-P", "-c", WORKER_PROGRAM],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # so that Ctrl-C reaches only the driver
        ) as process,
    ):
        processes.append(process)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{json.dumps(sys.path)}\n".encode() + pickle.dumps(job))
        process.stdin.flush()
        report = process.stdout.read()
    try:
        return pickle.loads(report)
    except (EOFError, pickle.UnpicklingError) as error:
        raise WorkerLost(NO_REPORT) from error


def serve() -> NoReturn:
    """Read a job from standard input, run it, write the report to standard output, and end this worker process.

    The process also ends when the driver that started it dies, because its standard input is then closed. (The
    kernel's parent-death signal cannot be used for this: it is sent as soon as the driver's thread that started the
    worker ends.)
    """
    job = pickle.load(sys.stdin.buffer)
    results = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # anything printed from now on goes to standard error
    threading.Thread(target=_exit_with_driver, daemon=True).start()
    with suppress(BrokenPipeError):  # the driver has ended
        results.write(pickle.dumps(work(job)))
        results.flush()
    os._exit(0)


def _exit_with_driver() -> NoReturn:
    sys.stdin.buffer.read()
    os._exit(0)


# Actors of a Ray cluster


QUIET_RAY = {"RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO": "0", "RAY_USAGE_STATS_ENABLED": "0"}
"""Environment variables that silence a warning of Ray and turn off its usage reports. The user's values are kept."""


class RemoteJob:
    """An actor that carries out one job in a process of the cluster."""

    def carry_out(self, job: Job) -> WorkerReport:
        """Return the report of the job."""
        return work(job)


def work_in_actor(job: Job) -> Any:
    """Run a job in a new actor, which occupies one processor of the cluster, and return the actor's report.

    Raises WorkerLost if the actor is lost.
    """
    ray = importlib.import_module("ray")
    actor: Any = ray.remote(RemoteJob).options(num_cpus=1, max_restarts=0).remote()
    try:
        return ray.get(actor.carry_out.remote(job))
    except ray.exceptions.RayTaskError:
        raise
    except ray.exceptions.RayError as error:
        raise WorkerLost(f"{NO_REPORT} Ray's reason: {type(error).__name__}: {first_line(str(error))}") from error
    finally:
        ray.kill(actor)


@contextmanager
def cluster_pool(jobs: int) -> Iterator[WorkerPool]:
    """Yield a pool with one worker for each processor of a Ray cluster, but at least one and at most ``jobs`` workers.

    If this process has already joined a cluster, that one is used. Otherwise, the cluster at the address in RAY_ADDRESS
    is joined. If that is not set, a new cluster is started on this machine, and shut down at the end. Raises
    MissingRequirement if the cluster cannot be used.
    """
    ray = importlib.import_module("ray")
    if not (has_joined := ray.is_initialized()):
        _join(os.environ.get("RAY_ADDRESS", "") or "local")
    try:
        processors = int(ray.cluster_resources().get("CPU", 0))
        machines = sum(node["Alive"] for node in ray.nodes())
        yield WorkerPool(max(1, min(jobs, processors)), work_in_actor, machines)
    finally:
        if not has_joined:
            ray.shutdown()


def _join(address: str) -> None:
    ray = importlib.import_module("ray")
    for name, value in QUIET_RAY.items():
        os.environ.setdefault(name, value)
    if address != "local":  # by default, Ray tries for 13 minutes to reach a cluster; now it tries once
        os.environ.setdefault("RAY_gcs_server_port_wait_time_s", "1")
    logging.getLogger("ray").setLevel(logging.ERROR)
    # Even with log_to_driver=False, Ray prints every lost worker on standard output. The driver already reports these.
    setattr(importlib.import_module("ray._private.worker"), "print_to_stdstream", lambda *_, **__: None)  # noqa: B010
    try:
        ray.init(address=address, include_dashboard=False, log_to_driver=False, configure_logging=False)
    except (ConnectionError, ray.exceptions.RayError, RuntimeError, ValueError) as error:
        raise MissingRequirement(
            f"Ray at {address} cannot be used: {error}; set RAY_ADDRESS to a cluster, or unset it to start one here"
        ) from error
