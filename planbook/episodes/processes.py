"""Workers that are processes of this machine."""

import json
import os
import secrets
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from multiprocessing.managers import BaseManager, RemoteError
from typing import Any, NoReturn

from planbook.episodes.worker_player import Served
from planbook.episodes.workers import Places, Worker, WorkerLost

BOOT = """
import gc, json, sys
gc.disable()
orders = json.loads(sys.stdin.readline() or sys.exit())
sys.path[:] = orders["path"]
from planbook.episodes.processes import serve
gc.freeze()
gc.enable()
serve(orders["address"], bytes.fromhex(orders["key"]))
"""
"""Not by ``multiprocessing``, which would begin with importing the program that uses us a second time. What is imported
is not searched for garbage."""
READY = "ready"


class Manager(BaseManager):
    """Carries calls to a process; each thread that calls has a connection of its own, and a thread there."""


Manager.register("Served", Served, exposed=("call",))


class ProcessWorker(Worker):
    """A process of its own, begun afresh: nothing is shared with the driver but the store."""

    def __init__(self) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-c", BOOT],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,  # Ctrl-C is for the driver
        )
        address, key = f"\0planbook-{secrets.token_hex(16)}", secrets.token_bytes(32)
        try:
            self._tell(json.dumps({"path": sys.path, "address": address, "key": key.hex()}))
            manager = Manager(address, key)
            manager.connect()
            self._served: Any = manager.Served()  # type: ignore[attr-defined]
        except (EOFError, OSError, RemoteError) as error:
            self.kill()
            raise WorkerLost from error

    def call(self, name: str, *arguments: Any) -> Any:
        """Call a method of the worker's player. Raises WorkerLost."""
        try:
            return self._served.call(name, *arguments)
        except (EOFError, OSError) as error:
            raise WorkerLost from error

    def kill(self) -> None:
        """End the process, if it is still there."""
        self._process.kill()
        self.dismiss()

    def dismiss(self) -> None:
        """Let the process end by itself."""
        with self._process:
            pass  # that closes its standard input, and waits

    def _tell(self, line: str) -> None:
        """Tell it how to begin, and wait until it serves."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{line}\n")
        self._process.stdin.flush()
        if self._process.stdout.readline().strip() != READY:
            raise EOFError


def serve(address: str, key: bytes) -> NoReturn:
    """In the worker: answer calls until the driver closes our standard input, or is gone, even after ``kill -9``.

    What the worker started ends with it. The kernel's parent-death signal would not do: it comes already when the
    thread that started the worker ends.
    """
    server = Manager(address, key).get_server()
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with suppress(BrokenPipeError):  # the driver is gone already
        print(READY, flush=True)
    os.dup2(2, 1)  # whatever is printed from now on is no answer
    sys.stdin.read()
    os._exit(0)


@contextmanager
def on_this_machine(jobs: int) -> Iterator[Places]:
    """As many processes as there are cores for them."""
    yield Places(min(jobs, len(os.sched_getaffinity(0))), lambda threads, *, spare: ProcessWorker())
