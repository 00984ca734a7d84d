"""Workers that are processes of this machine."""

import json
import os
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any, NoReturn

from planbook.workers.pool import Places, WorkerLost

BOOT = """
import gc, json, sys
gc.disable()
sys.path[:] = json.loads(sys.stdin.buffer.readline() or sys.exit())
from planbook.workers.processes import serve
gc.freeze()
gc.enable()
serve()
"""
"""Not by ``multiprocessing``, which would begin with importing the program that uses us a second time. What is imported
is not searched for garbage."""
BEGUN = b"begun\n"


class ProcessWorker:
    """A process of its own, begun afresh: nothing is shared with the driver but the store."""

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
        """Say what to do, and read what it comes to, until the process ends."""
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
    """In the worker: carry out the task, unless the driver closes our standard input, or is gone, even by ``kill -9``.

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
def on_this_machine(jobs: int) -> Iterator[Places]:
    """As many processes as there are cores for them."""
    yield Places(min(jobs, len(os.sched_getaffinity(0))), ProcessWorker)
