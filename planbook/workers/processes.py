"""Pools of workers outside this process, and the pool of this machine, where each worker is a new process."""

import json
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import partial
from typing import Any, NamedTuple, NoReturn

from planbook.workers.worker import Job, WorkerReport, work


class WorkerLost(Exception):
    """The process of a worker has ended, or cannot be reached; ``begun`` is True if it had begun its job."""

    def __init__(self, *, begun: bool) -> None:
        self.begun = begun
        super().__init__("a worker process was lost")


class WorkerPool(NamedTuple):
    """Runs up to ``capacity`` workers at the same time, on a number of machines.

    ``work`` runs a job in a new worker and returns its report. It raises WorkerLost if the worker is lost, or
    ClusterLost if no worker can be reached any more.
    """

    capacity: int
    work: Callable[[Job], WorkerReport]
    machines: int = 1


OpenPool = Callable[[int], AbstractContextManager[WorkerPool]]
"""Opens a pool; the argument is the largest useful number of workers."""


@contextmanager
def local_pool(jobs: int) -> Iterator[WorkerPool]:
    """Yield a pool with a worker for each core, but at most ``jobs`` workers."""
    processes: list[subprocess.Popen[bytes]] = []
    try:
        yield WorkerPool(min(jobs, len(os.sched_getaffinity(0))), partial(work_in_process, processes=processes))
    finally:
        for process in processes:  # all have ended, unless Ctrl-C was pressed twice
            process.kill()


BOOT = """
import gc, json, sys
gc.disable()
sys.path[:] = json.loads(sys.stdin.buffer.readline() or sys.exit())
from planbook.workers.processes import serve
gc.freeze()
gc.enable()
serve()
"""
"""The program of a worker process. ``multiprocessing`` would import the user's main program again.
Imported modules are kept out of garbage collection."""
BEGUN = b"begun\n"


def work_in_process(job: Job, processes: list["subprocess.Popen[bytes]"]) -> Any:
    """Run a job in a new process, which shares only the store with this one, and return its report.

    The process is added to ``processes``. Raises WorkerLost if the process ends without a report.
    """
    begun, report = False, b""
    with (
        suppress(BrokenPipeError),  # the process has ended before it read its job
        subprocess.Popen(
            [sys.executable, "-P", "-c", BOOT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the driver alone
        ) as process,
    ):
        processes.append(process)
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write(f"{json.dumps(sys.path)}\n".encode() + pickle.dumps(job))
        process.stdin.flush()
        begun = process.stdout.readline() == BEGUN
        report = process.stdout.read()
    try:
        return pickle.loads(report)
    except (EOFError, pickle.UnpicklingError) as error:
        raise WorkerLost(begun=begun) from error


def serve() -> NoReturn:
    """Run the job in the worker process, which ends when the driver closes its standard input or dies.

    Processes that the worker started end with it. The kernel's parent-death signal cannot be used instead: it is sent
    as soon as the thread that started the worker ends.
    """
    job = pickle.load(sys.stdin.buffer)
    results = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # anything printed from now on goes to standard error
    threading.Thread(target=_exit_with_driver, daemon=True).start()
    with suppress(BrokenPipeError):  # the driver has ended
        results.write(BEGUN)
        results.flush()
        results.write(pickle.dumps(work(job)))
        results.flush()
    os._exit(0)


def _exit_with_driver() -> NoReturn:
    sys.stdin.buffer.read()
    os._exit(0)
