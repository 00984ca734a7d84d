"""Workers that are processes of this machine."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.connection import wait
from multiprocessing.managers import BaseManager, RemoteError
from typing import Any

from planbook.episodes.player import Served
from planbook.episodes.workers import Places, Worker, WorkerLost


class Manager(BaseManager):
    """Starts a process and carries calls there; each thread that calls has a connection, and a thread there."""


Manager.register("Served", Served, exposed=("call", "process"))
SHUTDOWN_SECONDS = 10.0
"""How long a worker may take to close what it has open."""


class ProcessWorker(Worker):
    """A process of its own, begun afresh: nothing is shared with the driver but the store."""

    def __init__(self) -> None:
        self._manager = Manager(ctx=multiprocessing.get_context("spawn"), shutdown_timeout=SHUTDOWN_SECONDS)
        try:
            self._manager.start(end_with_the_driver)
            self._served: Any = self._manager.Served()  # type: ignore[attr-defined]
            self._process: int = self._served.process()
        except (EOFError, OSError, RemoteError) as error:
            raise WorkerLost from error

    def call(self, name: str, *arguments: Any) -> Any:
        """Call a method of the worker's player. Raises WorkerLost."""
        try:
            return self._served.call(name, *arguments)
        except (EOFError, OSError) as error:
            raise WorkerLost from error

    def kill(self) -> None:
        """End the process, if it is still there."""
        with suppress(ProcessLookupError):
            os.kill(self._process, signal.SIGKILL)
        self._manager.shutdown()

    def dismiss(self) -> None:
        """Let the process end by itself."""
        self._manager.shutdown()


def end_with_the_driver() -> None:
    """In a worker: end as soon as the driver is gone, even after ``kill -9``; what the worker started ends with it.

    Not by the kernel's parent-death signal, which comes already when the thread that started the worker ends.
    """
    driver = multiprocessing.parent_process()
    assert driver is not None

    def watch() -> None:
        wait([driver.sentinel])
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


@contextmanager
def on_this_machine(jobs: int) -> Iterator[Places]:
    """As many processes as there are cores for them."""
    yield Places(min(jobs, len(os.sched_getaffinity(0))), lambda threads, *, spare: ProcessWorker())
