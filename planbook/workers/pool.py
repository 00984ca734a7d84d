"""Work in threads of this process, or in other processes, of which lost ones are replaced."""

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
from typing import Any, Generic, NamedTuple, NoReturn, Protocol, TypeVar

from planbook.errors import INTERRUPTED
from planbook.planner import EpisodeStopped, JournalFailed
from planbook.sandbox import WorkerFailed
from planbook.workers.steering import Steering

LOG = logging.getLogger(__name__)
LOOK_SECONDS = 0.2
STOPPING = "Stopping: what is under way ends at its next action or model call; Ctrl-C again ends it at once."
Message = BaseException | bool
"""A message from a thread: the error that ended it, False for news, True when it has finished."""


def in_threads(
    count: int,
    work: Callable[[Callable[[], None]], None],
    steering: Steering,
    look: Callable[[], None] = lambda: None,
) -> bool:
    """Run ``work`` in a number of threads; it is passed a function to call when there is something to report.

    ``look`` is called in this thread after each report, and regularly. Returns False if Ctrl-C or ``steering`` stopped
    the work. What a thread raises is raised here, once all have ended.
    """
    messages: queue.SimpleQueue[Message] = queue.SimpleQueue()
    threads = [threading.Thread(target=_run, args=(work, messages), daemon=True) for _ in range(count)]
    finished = False
    try:
        for thread in threads:
            thread.start()
        finished = _watch(count, messages, look)
    except KeyboardInterrupt:
        LOG.warning(STOPPING)
    finally:
        if not finished:
            steering.stop()
        wait_for(threads)
    look()
    return finished


def _run(work: Callable[[Callable[[], None]], None], messages: "queue.SimpleQueue[Message]") -> None:
    """Call ``work`` in a thread, and send what it raises."""
    try:
        work(lambda: messages.put(False))
        messages.put(True)
    except JournalFailed as failed:
        messages.put(failed.__cause__ or failed)
    except BaseException as error:
        messages.put(error)


def _watch(count: int, messages: "queue.SimpleQueue[Message]", look: Callable[[], None]) -> bool:
    """Wait until all threads have ended. Returns False if one was stopped; raises what one raised."""
    while count:
        try:
            message = messages.get(timeout=LOOK_SECONDS)
        except queue.Empty:
            message = False
        if isinstance(message, EpisodeStopped):
            return False
        if isinstance(message, BaseException):
            raise message
        count -= message
        look()
    return True


def wait_for(threads: Sequence[threading.Thread]) -> None:
    """Wait until the episodes under way have stopped at their next action; a second Ctrl-C ends the wait.

    The process then ends at once, as if it were killed: what they would write after their sandbox is gone must not be
    taken for endings.
    """
    try:
        for thread in threads:
            if thread.ident is not None:
                thread.join()
    except KeyboardInterrupt:
        os._exit(INTERRUPTED)


LOST = "A worker process was lost; its episodes go on in another."
NOT_BEGUN = "A worker process ended before it could begin; another is started."
NEVER_BEGUN = "two worker processes ended before they could begin; is there enough memory?"
Task = TypeVar("Task")
Result = TypeVar("Result")


class WorkerLost(Exception):
    """The process of a worker is gone, or cannot be reached."""


class Remote(Protocol):
    """A worker in a process of its own."""

    @property
    def begun(self) -> bool:
        """True once it has reached its task."""

    def result(self) -> Any:
        """Return what its task came to, or None while it is under way. Raises WorkerLost."""

    def kill(self) -> None:
        """End the process, if it is still there."""


class WorkerPlaces(NamedTuple):
    """Where workers can run: how many at once are useful, and how to start one with a function and its task.

    ``start`` is also given a function for the worker to call when there is a result, if it can. ``machines`` is the
    number of machines they may come to be on. ``check`` raises ClusterLost once no worker can be reached any more.
    """

    most: int
    start: Callable[[Callable[[Any], Any], Any, Callable[[], None]], Remote]
    machines: int = 1
    check: Callable[[], None] = lambda: None


OpenPlaces = Callable[[int], AbstractContextManager[WorkerPlaces]]
"""Takes the largest number of workers that would be useful."""


class WorkerPool(Generic[Task, Result]):
    """Carries out tasks by ``do``, which a worker calls, as many at once as there are places.

    ``on_result`` and ``on_lost`` return the tasks that follow from a result, and from the loss of a worker. ``look`` is
    called again and again meanwhile; ``stop`` asks all workers to end soon; without it they are killed.
    """

    def __init__(
        self,
        places: WorkerPlaces,
        do: Callable[[Task], Result],
        tasks: Sequence[Task],
        on_result: Callable[[Task, Result], Sequence[Task]],
        on_lost: Callable[[Task], Sequence[Task]],
        look: Callable[[], None],
        stop: Callable[[], None] | None,
    ) -> None:
        self._places, self._do, self._waiting = places, do, [*tasks]
        self._on_result, self._on_lost, self._look, self._stop = on_result, on_lost, look, stop
        self._working: list[tuple[Remote, Task]] = []
        self._changed = threading.Event()
        self._not_begun = 0

    def carry_out(self) -> bool:
        """Carry out all tasks. Returns False if Ctrl-C stopped it; raises what a callback raises, and WorkerFailed."""
        finished = False
        try:
            self._go_on()
            finished = True
        except KeyboardInterrupt:
            LOG.warning(STOPPING)
        finally:
            self._waiting.clear()
            self._end(finished)
        return finished

    def _go_on(self) -> None:
        while self._waiting or self._working:
            while self._waiting and len(self._working) < self._places.most:
                task = self._waiting.pop(0)
                self._working.append((self._places.start(self._do, task, self._changed.set), task))
            self._changed.wait(LOOK_SECONDS)
            self._changed.clear()
            self._places.check()
            for worker, task in [*self._working]:
                self._look_after(worker, task)
            self._look()

    def _look_after(self, worker: Remote, task: Task) -> None:
        try:
            result = worker.result()
        except WorkerLost:
            self._remove(worker, task)
            self._count(worker)
            self._waiting += self._on_lost(task) if worker.begun else [task]
            return
        if result is not None:
            self._not_begun = 0
            self._remove(worker, task)
            self._waiting += self._on_result(task, result)

    def _remove(self, worker: Remote, task: Task) -> None:
        self._working.remove((worker, task))
        worker.kill()

    def _count(self, worker: Remote) -> None:
        """Log a lost worker. One that had not begun may have been killed, so only two in a row are a fault."""
        LOG.warning(LOST if worker.begun else NOT_BEGUN)
        self._not_begun = 0 if worker.begun else self._not_begun + 1
        if self._not_begun > 1:
            raise WorkerFailed(NEVER_BEGUN)

    def _end(self, finished: bool) -> None:
        """Wait until workers have stopped at their next action; a second Ctrl-C ends this process, and them too."""
        try:
            if not finished and self._stop is not None:
                self._stop()
                while self._working:
                    self._places.check()
                    self._changed.wait(LOOK_SECONDS)
                    self._changed.clear()
                    for worker, task in [*self._working]:
                        self._collect(worker, task)
        except KeyboardInterrupt:
            os._exit(INTERRUPTED)
        finally:
            for worker, _ in self._working:
                worker.kill()

    def _collect(self, worker: Remote, task: Task) -> None:
        """Take a worker's result, and ignore the tasks that would follow."""
        try:
            result = worker.result()
        except WorkerLost:
            self._on_lost(task)
        else:
            if result is None:
                return
            self._on_result(task, result)
        self._remove(worker, task)


BOOT = """
import gc, json, sys
gc.disable()
sys.path[:] = json.loads(sys.stdin.buffer.readline() or sys.exit())
from planbook.workers.pool import serve
gc.freeze()
gc.enable()
serve()
"""
"""Instead of ``multiprocessing``, which would first import the program that uses us a second time. What is imported
is not garbage-collected."""
BEGUN = b"begun\n"


class ProcessWorker:
    """A new process that shares nothing with the driver but the store."""

    def __init__(self, do: Callable[[Any], Any], task: Any, changed: Callable[[], None]) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", BOOT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            start_new_session=True,  # Ctrl-C is for the driver
        )
        self._told, self._changed = f"{json.dumps(sys.path)}\n".encode() + pickle.dumps((do, task)), changed
        self.begun, self._result = False, b""
        self._talking = threading.Thread(target=self._talk, daemon=True)
        self._talking.start()

    def _talk(self) -> None:
        """Send the task, and read the result, until the process ends."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        with suppress(OSError):
            self._process.stdin.write(self._told)
            self._process.stdin.flush()
        self.begun = self._process.stdout.readline() == BEGUN
        self._result = self._process.stdout.read()
        self._changed()

    def result(self) -> Any:
        """Return what the task came to, or None while it is under way. Raises WorkerLost."""
        if self._talking.is_alive():
            return None
        try:
            return pickle.loads(self._result)
        except (EOFError, pickle.UnpicklingError) as error:
            raise WorkerLost from error

    def kill(self) -> None:
        """End the process, if it is still there."""
        self._process.kill()
        self._talking.join()
        with suppress(BrokenPipeError), self._process:
            pass  # that closes its pipes, and waits


def serve() -> NoReturn:
    """Carry out the task in the worker process. It ends at once when the driver closes its standard input or dies.

    What the worker started ends with it. The kernel's parent-death signal would not do: it comes already when the
    thread that started the worker ends.
    """
    do, task = pickle.load(sys.stdin.buffer)
    results = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # whatever is printed from now on is no result
    threading.Thread(target=_end_with_the_driver, daemon=True).start()
    with suppress(BrokenPipeError):  # the driver is gone already
        results.write(BEGUN)
        results.flush()
        results.write(pickle.dumps(do(task)))
        results.flush()
    os._exit(0)


def _end_with_the_driver() -> NoReturn:
    sys.stdin.buffer.read()
    os._exit(0)


@contextmanager
def on_this_machine(jobs: int) -> Iterator[WorkerPlaces]:
    """Give a place for each core."""
    yield WorkerPlaces(min(jobs, len(os.sched_getaffinity(0))), ProcessWorker)
