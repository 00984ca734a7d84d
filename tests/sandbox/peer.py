"""Scripted workers: the sockets and processes are real, but a script writes the messages."""

import os
import socket
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from itertools import repeat
from typing import Any

from pydantic_core import to_json

from planbook.sandbox import Limits, Session
from planbook.sandbox.answers import Answers, function_specs
from planbook.sandbox.process import WorkerProcess
from planbook.sandbox.protocol import MAX_WORKER_FRAME, pack

GRACE = 8.0
"""Maximum seconds between the wall clock limit of a cell and its end, even on a busy machine."""


class Peer:
    """The worker's end of the socket between host and worker."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock

    def say(self, *parts: object) -> None:
        self.raw(pack(to_json(list(parts), inf_nan_mode="constants"), 1 << 24))

    def raw(self, data: bytes) -> None:
        self.sock.sendall(data)

    def hear(self) -> bytes:
        """Return the next frame from the host."""
        (size,) = struct.unpack(">I", self._exactly(4))
        return self._exactly(size)

    def _exactly(self, size: int) -> bytes:
        data = b""
        while len(data) < size:
            if not (chunk := self.sock.recv(size - len(data))):
                raise ConnectionResetError
            data += chunk
        return data

    def hang(self) -> None:
        """Stay silent until the host hangs up."""
        while self.sock.recv(1 << 16):
            pass


Script = Callable[[Peer], None]


@contextmanager
def session(script: Script, functions: Mapping[str, Callable[..., object]], limits: Limits) -> Iterator[Session]:
    """Open a session in which every worker follows the script."""
    processes: list[subprocess.Popen[bytes]] = []
    threads: list[threading.Thread] = []

    def play(worker_end: socket.socket) -> None:
        with worker_end, suppress(OSError):  # the host hangs up
            script(Peer(worker_end))

    def open_worker() -> WorkerProcess:
        host_end, worker_end = socket.socketpair()
        processes.append(subprocess.Popen(["sleep", "60"]))
        threads.append(threading.Thread(target=play, args=(worker_end,)))
        threads[-1].start()
        return WorkerProcess(host_end, os.pidfd_open(processes[-1].pid), processes[-1].pid)

    with Session(open_worker, Answers(function_specs(functions), None), limits) as opened:
        yield opened
    for thread in threads:
        thread.join(GRACE)
    assert not any(thread.is_alive() for thread in threads)
    assert all(process.wait(GRACE) == -9 for process in processes)


def drain(peer: Peer) -> None:
    with suppress(OSError):
        peer.hang()


def flood(*parts: object) -> Script:
    """Return a script that sends the same message again and again, and reads and ignores all answers."""
    frames = pack(to_json(list(parts)), MAX_WORKER_FRAME) * max(1, 4_000 // len(to_json(list(parts))))

    def script(peer: Peer) -> None:
        peer.hear()
        threading.Thread(target=drain, args=(peer,)).start()
        for data in repeat(frames):
            peer.raw(data)

    return script


def raw(data: bytes) -> Script:
    """Return a script that sends bytes and then stays silent."""

    def script(peer: Peer) -> None:
        peer.hear()
        peer.raw(data)
        peer.hang()

    return script


def say(*parts: object) -> Script:
    return raw(pack(to_json(list(parts), inf_nan_mode="constants"), 1 << 24))


def then_close(data: bytes) -> Script:
    """Return a script that sends bytes and hangs up."""

    def script(peer: Peer) -> None:
        peer.hear()
        peer.raw(data)

    return script


def drip(peer: Peer) -> None:
    """Send a frame byte by byte. This takes seconds, although the host never waits long for the next byte."""
    peer.hear()
    for byte in pack(b" " * MAX_WORKER_FRAME, MAX_WORKER_FRAME):
        peer.raw(bytes([byte]))


def sip(peer: Peer) -> None:
    """Read a long answer in small pieces."""
    peer.hear()
    peer.say("call", 1, "much", [], {})
    while peer.sock.recv(2_000):
        time.sleep(0.001)


def nested_list(levels: int) -> Any:
    value: Any = 1
    for _ in range(levels):
        value = [value]
    return value
