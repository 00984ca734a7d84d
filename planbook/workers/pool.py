"""Run work in threads of this process, or in worker processes that are replaced if they are lost."""

import json
import logging
import os
import pickle
import queue
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn, Protocol

from planbook.errors import INTERRUPTED
from planbook.planner import EpisodeStopped, JournalFailed
from planbook.sandbox import WorkerFailed
from planbook.workers.steering import Steering

if TYPE_CHECKING:
    from planbook.workers.worker import Job, WorkerReport

LOG = logging.getLogger(__name__)
POLL_SECONDS = 0.2
STOPPING = "Stopping: work under way ends at its next action or model call; Ctrl-C again ends it at once."
Message = BaseException | bool
"""A message from a thread: the error that ended it, False for a report, True when it has finished."""


def in_threads(
    count: int,
    work: Callable[[Callable[[], None]], None],
    steering: Steering,
    poll: Callable[[], None] = lambda: None,
) -> bool:
    """Run ``work`` in a number of threads; its argument is a function to call when there is something to report.

    ``poll`` is called in this thread after each report, and regularly. Returns False if Ctrl-C or ``steering`` stopped
    the work. An error in a thread is raised here, once all threads have ended.
    """
    messages: queue.SimpleQueue[Message] = queue.SimpleQueue()
    threads = [threading.Thread(target=_run, args=(work, messages), daemon=True) for _ in range(count)]
    finished = False
    try:
        for thread in threads:
            thread.start()
        finished = _watch(count, messages, poll)
    except KeyboardInterrupt:
        LOG.warning(STOPPING)
    finally:
        if not finished:
            steering.stop()
        wait_for(threads)
    poll()
    return finished


def _run(work: Callable[[Callable[[], None]], None], messages: "queue.SimpleQueue[Message]") -> None:
    """Call ``work`` in a thread, and send the error that it raises."""
    try:
        work(lambda: messages.put(False))
        messages.put(True)
    except JournalFailed as failed:
        messages.put(failed.__cause__ or failed)
    except BaseException as error:
        messages.put(error)


def _watch(count: int, messages: "queue.SimpleQueue[Message]", poll: Callable[[], None]) -> bool:
    """Wait until all threads have ended. Returns False if one was stopped; raises the error of a thread."""
    while count:
        try:
            message = messages.get(timeout=POLL_SECONDS)
        except queue.Empty:
            message = False
        if isinstance(message, EpisodeStopped):
            return False
        if isinstance(message, BaseException):
            raise message
        count -= message
        poll()
    return True


def wait_for(threads: Sequence[threading.Thread]) -> None:
    """Wait until the episodes under way have stopped at their next action; a second Ctrl-C ends the wait.

    The process then ends at once, as if it were killed: if the sandbox were closed first, episodes would record
    false endings.
    """
    try:
        for thread in threads:
            if thread.ident is not None:
                thread.join()
    except KeyboardInterrupt:
        os._exit(INTERRUPTED)


LOST = "A worker process was lost; its episodes continue in another."
NOT_STARTED = "A worker process ended before it could begin; another is started."
NEVER_STARTED = "two worker processes ended before they could begin; is there enough memory?"


class WorkerLost(Exception):
    """The process of a worker has ended, or cannot be reached."""


class Remote(Protocol):
    """A worker in its own process."""

    @property
    def begun(self) -> bool:
        """True once it is ready to begin its job."""

    def result(self) -> "WorkerReport | None":
        """Return its report, or None while it works. Raises WorkerLost."""

    def kill(self) -> None:
        """End the process if it still runs."""


class WorkerPlaces(NamedTuple):
    """Places where workers can run: the number of places, and the function that starts a worker.

    ``start`` takes a job, and a callback that the worker calls when it has a report, if it can. ``machines`` is the
    number of machines that have places. ``check`` raises ClusterLost once the workers cannot be reached any more.
    """

    capacity: int
    start: Callable[["Job", Callable[[], None]], Remote]
    machines: int = 1
    check: Callable[[], None] = lambda: None


OpenPlaces = Callable[[int], AbstractContextManager[WorkerPlaces]]
"""Opens places; its argument is the largest useful number of workers."""


class WorkerPool:
    """Carries out jobs in workers; as many run at once as there are places.

    ``on_report`` and ``on_lost`` return the jobs that follow a report and the loss of a worker. ``poll`` is called
    regularly. ``stop`` asks all workers to end soon.
    """

    def __init__(
        self,
        places: WorkerPlaces,
        jobs: "Sequence[Job]",
        on_report: "Callable[[Job, WorkerReport], Sequence[Job]]",
        on_lost: "Callable[[Job], Sequence[Job]]",
        poll: Callable[[], None],
        stop: Callable[[], None],
    ) -> None:
        self._places, self._waiting = places, [*jobs]
        self._on_report, self._on_lost, self._poll, self._stop = on_report, on_lost, poll, stop
        self._working: list[tuple[Remote, Job]] = []
        self._changed = threading.Event()
        self._not_started = 0

    def carry_out(self) -> bool:
        """Carry out all jobs. Returns False after Ctrl-C. Raises WorkerFailed, and the errors of callbacks."""
        finished = False
        try:
            self._work()
            finished = True
        except KeyboardInterrupt:
            LOG.warning(STOPPING)
        finally:
            self._waiting.clear()
            self._end(finished)
        return finished

    def _work(self) -> None:
        while self._waiting or self._working:
            while self._waiting and len(self._working) < self._places.capacity:
                job = self._waiting.pop(0)
                self._working.append((self._places.start(job, self._changed.set), job))
            self._changed.wait(POLL_SECONDS)
            self._changed.clear()
            self._places.check()
            for worker, job in [*self._working]:
                self._collect(worker, job)
            self._poll()

    def _collect(self, worker: Remote, job: "Job") -> None:
        try:
            report = worker.result()
        except WorkerLost:
            self._remove(worker, job)
            self._log_loss(worker)
            self._waiting += self._on_lost(job) if worker.begun else [job]
            return
        if report is not None:
            self._not_started = 0
            self._remove(worker, job)
            self._waiting += self._on_report(job, report)

    def _remove(self, worker: Remote, job: "Job") -> None:
        self._working.remove((worker, job))
        worker.kill()

    def _log_loss(self, worker: Remote) -> None:
        """Log a lost worker. Raises WorkerFailed if two in a row had not begun; one alone may have been killed."""
        LOG.warning(LOST if worker.begun else NOT_STARTED)
        self._not_started = 0 if worker.begun else self._not_started + 1
        if self._not_started > 1:
            raise WorkerFailed(NEVER_STARTED)

    def _end(self, finished: bool) -> None:
        """Wait until workers have stopped at their next action; a second Ctrl-C ends this process and the workers."""
        try:
            if not finished:
                self._stop()
                while self._working:
                    self._places.check()
                    self._changed.wait(POLL_SECONDS)
                    self._changed.clear()
                    for worker, job in [*self._working]:
                        self._collect_last(worker, job)
        except KeyboardInterrupt:
            os._exit(INTERRUPTED)
        finally:
            for worker, _ in self._working:
                worker.kill()

    def _collect_last(self, worker: Remote, job: "Job") -> None:
        """Take a worker's report while stopping; the jobs that would follow are dropped."""
        try:
            report = worker.result()
        except WorkerLost:
            self._on_lost(job)
        else:
            if report is None:
                return
            self._on_report(job, report)
        self._remove(worker, job)


BOOT = """
import gc, json, sys
gc.disable()
sys.path[:] = json.loads(sys.stdin.buffer.readline() or sys.exit())
from planbook.workers.pool import serve
gc.freeze()
gc.enable()
serve()
"""
"""The program of a worker process. ``multiprocessing`` would first import the user's main program a second time.
Imported modules are kept out of garbage collection."""
BEGUN = b"begun\n"


class ProcessWorker:
    """A worker in a new process; it shares only the store with the driver."""

    def __init__(self, job: "Job", changed: Callable[[], None]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", BOOT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the driver alone
        )
        self._input, self._changed = f"{json.dumps(sys.path)}\n".encode() + pickle.dumps(job), changed
        self.begun, self._result = False, b""
        self._thread = threading.Thread(target=self._exchange, daemon=True)
        self._thread.start()

    def _exchange(self) -> None:
        """Send the job, and read the report, until the process ends."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(OSError):
            self._process.stdin.write(self._input)
            self._process.stdin.flush()
        self.begun = self._process.stdout.readline() == BEGUN
        self._result = self._process.stdout.read()
        self._changed()

    def result(self) -> Any:
        """Return the report, or None while the process works. Raises WorkerLost."""
        if self._thread.is_alive():
            return None
        try:
            return pickle.loads(self._result)
        except (EOFError, pickle.UnpicklingError) as error:
            raise WorkerLost from error

    def kill(self) -> None:
        """End the process if it still runs."""
        self._process.kill()
        self._thread.join()
        with suppress(BrokenPipeError), self._process:
            pass  # closes its pipes and waits for its end


def serve() -> NoReturn:
    """Carry out the job in the worker process, which ends when the driver closes its standard input or dies.

    Processes that the worker started end with it. The kernel's parent-death signal is not an alternative: it is sent
    when the thread that started the worker ends.
    """
    from planbook.workers.worker import work  # it imports this module

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


@contextmanager
def on_this_machine(jobs: int) -> Iterator[WorkerPlaces]:
    """Yield one place for each core."""
    yield WorkerPlaces(min(jobs, len(os.sched_getaffinity(0))), ProcessWorker)
