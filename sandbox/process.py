"""The host's handle of one worker process: its channel, its clock, its end."""

import os
import signal
import socket
import struct
import time
import weakref
from collections.abc import Callable
from contextlib import suppress
from math import ceil, inf

from planbook.sandbox.losses import was_killed
from planbook.sandbox.protocol import MAX_FROM_HOST, MAX_FROM_WORKER, Channel

SLICE_SECONDS = 0.01
"""How long the host waits in the kernel before it looks at the limits again."""
_TIMEOUT = struct.pack("ll", 0, int(SLICE_SECONDS * 1e6))


class Worker:
    """A worker that belongs to one session. Owns ``sock`` and ``pidfd``; who drops it ends it.

    ``orphaned`` tells whether its zygote has ended, with which the kernel kills it. ``limit`` sets the processor time
    of a process.
    """

    def __init__(
        self,
        sock: socket.socket,
        pidfd: int,
        pid: int,
        orphaned: Callable[[], bool] = lambda: False,
        limit: Callable[[int, int], None] = lambda pid, seconds: None,
    ) -> None:
        self._sock, self._pidfd, self._pid, self._orphaned, self._limit = sock, pidfd, pid, orphaned, limit
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _TIMEOUT)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _TIMEOUT)
        self._rests = False
        self._end = weakref.finalize(self, _end, sock, pidfd, os.getpid())
        self._end.atexit = False  # at the end of the host the kernel does it
        self._channel = Channel(sock, send_cap=MAX_FROM_HOST, receive_cap=MAX_FROM_WORKER)

    def send(self, payload: bytes, waiting: Callable[[], None]) -> None:
        """Send one message; ``waiting`` is called after each slice of waiting. Raises as Channel.send.

        A worker that rests goes on.
        """
        if self._rests:
            self._rests = False
            self._signal(signal.SIGCONT)
        self._channel.send(payload, waiting)

    def rest(self) -> None:
        """Stop the process until the next message is sent to it: whatever it would do, it has no processor time."""
        self._rests = True
        self._signal(signal.SIGSTOP)

    def _signal(self, number: signal.Signals) -> None:
        if self._end.alive:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, number)

    def receive(self, waiting: Callable[[], None]) -> bytes:
        """The next message; ``waiting`` is called after each slice of waiting. Raises as Channel.receive."""
        return self._channel.receive(waiting)

    def quiet(self) -> bool:
        """Whether the worker has said nothing that was not received yet."""
        return self._channel.quiet()

    def cpu_seconds(self) -> float:
        """Processor time used so far, all of the process; infinite once it is gone.

        The number of a process that has ended may be another's by now; the descriptor is never another's.
        """
        try:
            used = time.clock_gettime((~self._pid << 3) | 2)  # the kernel's number for a process's cpu clock
            signal.pidfd_send_signal(self._pidfd, 0)
        except OSError:
            return inf
        return used

    def allow(self, seconds: float) -> None:
        """Let the process use so much more processor time, and up to two seconds beyond; then the kernel ends it.

        The host looks at the time itself while it waits for the worker; this holds while the host does something else.
        """
        used = self.cpu_seconds()
        if used < inf:
            self._limit(self._pid, ceil(used + seconds) + 1)

    def was_killed(self) -> bool:
        """Whether somebody has killed it, of a worker that has hung up and was not ended here; see sandbox.losses.

        How an orphan ended the kernel tells only once its new parent has asked, which may be never.
        """
        return self._end.alive and (was_killed(self._pidfd) or self._orphaned())

    def kill(self) -> None:
        """End the process, whatever it does, and give its descriptors back. Killing twice is harmless."""
        self._end()


def _end(sock: socket.socket, pidfd: int, host: int) -> None:
    """Kill a worker, unless this is a process that the host has forked, and close its descriptors."""
    if os.getpid() == host:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    os.close(pidfd)
    sock.close()
