"""Workers in other processes: each carries out one task and comes back with what it came to; lost ones are replaced."""

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from planbook.errors import INTERRUPTED
from planbook.sandbox import WorkerFailed
from planbook.workers.threads import LOG, LOOK_SECONDS, STOPPING

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
        """Whether it has come as far as its task."""

    def result(self) -> Any:
        """Return what its task came to, or None while it is under way. Raises WorkerLost."""

    def kill(self) -> None:
        """End the process, if it is still there."""


class Places(NamedTuple):
    """Where workers can run: how many at once are of use, and how to start one with a function and its task.

    ``start`` is also given a function for the worker to call when there is a result, if it can. ``machines`` is the
    number of machines they may come to be on. ``check`` raises ClusterLost once no worker can be reached any more.
    """

    most: int
    start: Callable[[Callable[[Any], Any], Any, Callable[[], None]], Remote]
    machines: int = 1
    check: Callable[[], None] = lambda: None


OpenPlaces = Callable[[int], AbstractContextManager[Places]]
"""Given the number of workers that would be wanted at most."""


class WorkerPool(Generic[Task, Result]):
    """Carries out tasks by ``do``, which a worker calls, as many at once as there are places.

    ``on_result`` and ``on_lost`` return the tasks that follow from a result, and from the loss of a worker. ``look`` is
    called again and again meanwhile; ``stop`` asks all workers to end soon; without it they are killed.
    """

    def __init__(
        self,
        places: Places,
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
        """Tell of a lost worker. One that had not begun may have been killed: only two in a row are a fault."""
        LOG.warning(LOST if worker.begun else NOT_BEGUN)
        self._not_begun = 0 if worker.begun else self._not_begun + 1
        if self._not_begun > 1:
            raise WorkerFailed(NEVER_BEGUN)

    def _end(self, finished: bool) -> None:
        """Let workers come to their next action; a second Ctrl-C ends this process at once, and them with it."""
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
        """Take a result for what it is: an error, or further tasks, change nothing any more."""
        try:
            result = worker.result()
        except WorkerLost:
            self._on_lost(task)
        else:
            if result is None:
                return
            self._on_result(task, result)
        self._remove(worker, task)
