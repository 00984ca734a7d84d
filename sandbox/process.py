"""The processes behind sessions, as the host sees them: the zygote, and the workers that it forks."""

import ctypes
import fcntl
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
import time
import weakref
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from math import ceil, inf
from pathlib import Path
from typing import Any

from planbook.sandbox.errors import WorkerFailed
from planbook.sandbox.protocol import (
    FIRST_CPU_SECONDS,
    LIMIT,
    MAX_FROM_HOST,
    MAX_FROM_WORKER,
    MEMORY_BYTES,
    Channel,
    ChannelClosed,
)
from planbook.sandbox.types import Limits

# Workers that are lost.

INFO_BYTES = 64
"""Size of the first version of the kernel's ``struct pidfd_info``."""
PIDFD_GET_INFO = 3 << 30 | INFO_BYTES << 16 | 0xFF << 8 | 11
INFO_EXIT = 1 << 3
EXIT_CODE_OFFSET = 60
WAIT_MS = 200
"""Maximum milliseconds between the moment when a process closes its socket and the moment when it ends."""
MAX_CRASHES = 2
"""Number of workers that crash at the same place in a plan before the plan is held responsible."""
MAX_KILLS = 5
"""Number of workers killed at the same place before the session gives up. No plan can send SIGKILL."""


def was_killed(pidfd: int) -> bool:
    """Return whether SIGKILL ended a process, which need not be a child; False if the kernel does not report it.

    Linux has reported it since 6.15, and keeps the status of an ended process while a pidfd for it is open.
    """
    poll = select.poll()
    poll.register(pidfd, select.POLLIN)
    if not poll.poll(WAIT_MS):
        return False
    info = bytearray(INFO_BYTES)
    struct.pack_into("Q", info, 0, INFO_EXIT)
    try:
        fcntl.ioctl(pidfd, PIDFD_GET_INFO, info)
    except OSError:
        return False
    is_known = struct.unpack_from("Q", info)[0] & INFO_EXIT
    status: int = struct.unpack_from("i", info, EXIT_CODE_OFFSET)[0]
    return bool(is_known) and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


class WorkerLosses:
    """Counts the workers lost while one cell ran or a session was rebuilt.

    Progress resets the counts: a plan that crashes its worker does so at the same place again.
    """

    def __init__(self) -> None:
        self._furthest = -1
        self.crashes = self.kills = 0

    def count(self, place: int, *, killed: bool) -> None:
        """Count a worker that was lost after ``place`` answers."""
        if place > self._furthest:
            self._furthest, self.crashes, self.kills = place, 0, 0
        if killed:
            self.kills += 1
        else:
            self.crashes += 1


# Workers.

SLICE_SECONDS = 0.01
"""Seconds that the host waits in the kernel between checks of the limits."""
_TIMEOUT = struct.pack("ll", 0, int(SLICE_SECONDS * 1e6))


class WorkerProcess:
    """A worker of one session. Owns ``sock`` and ``pidfd``; dropping the object ends the process.

    ``orphaned`` returns whether its zygote has ended, in which case the kernel has killed the worker. ``limit`` sets
    a process's limit on processor time, in seconds.
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
        self._is_stopped, self._cpu_limit = False, FIRST_CPU_SECONDS
        self._end = weakref.finalize(self, _end_worker, sock, pidfd, os.getpid())
        self._end.atexit = False  # when the host ends, the kernel ends the worker
        self._channel = Channel(sock, send_cap=MAX_FROM_HOST, receive_cap=MAX_FROM_WORKER)
        self.receive, self.is_quiet = self._channel.receive, self._channel.is_quiet

    def send(self, payload: bytes, waiting: Callable[[], None]) -> None:
        """Resume the worker if it is stopped, and send one message as ``Channel.send`` does."""
        if self._is_stopped:
            self._is_stopped = False
            self._signal(signal.SIGCONT)
        self._channel.send(payload, waiting)

    def stop(self) -> None:
        """Stop the process until the next message is sent to it, so that it gets no processor time."""
        self._is_stopped = True
        self._signal(signal.SIGSTOP)

    def _signal(self, number: signal.Signals) -> None:
        if self._end.alive:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, number)

    def cpu_seconds(self) -> float:
        """Return the processor time that the process has used; infinity once it is gone.

        The pid of an ended process may belong to another one by now; the pidfd never does.
        """
        try:
            used = time.clock_gettime((~self._pid << 3) | 2)  # the kernel's number for a process's cpu clock
            signal.pidfd_send_signal(self._pidfd, 0)
        except OSError:
            return inf
        return used

    def allow(self, seconds: float) -> None:
        """Let the process use this much more processor time. The kernel ends it after at most two seconds more.

        While the host waits for the worker, it checks the time itself. At all other times there is only this limit.
        """
        used = self.cpu_seconds()
        if used < inf and (limit := ceil(used + seconds) + 1) != self._cpu_limit:
            self._cpu_limit = limit
            self._limit(self._pid, limit)

    def was_killed(self) -> bool:
        """Return whether this worker was killed from outside.

        The kernel reports how an orphan ended only once its new parent has waited for it, which may never happen. An
        orphan therefore counts as killed.
        """
        return self._end.alive and (was_killed(self._pidfd) or self._orphaned())

    def kill(self) -> None:
        """End the process and close its descriptors. Killing twice is harmless."""
        self._end()


def _end_worker(sock: socket.socket, pidfd: int, host: int) -> None:
    """Kill a worker and close its descriptors. A fork of the host only closes them."""
    if os.getpid() == host:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    os.close(pidfd)
    sock.close()


# The zygote.

BOOT = """
import json, os, socket, sys, types
os.register_at_fork = lambda **hooks: None
control = socket.socket(fileno=0)
config = json.loads(control.recv(1 << 20))
for name, path in (("planbook", []), ("planbook.sandbox", [config.pop("folder")])):
    sys.modules[name] = types.ModuleType(name)
    sys.modules[name].__path__ = path
sys.path.extend(config.pop("path"))
from planbook.sandbox.worker.zygote import main
main(control, **config)
"""
"""The configuration arrives through the socket that is standard input: an argument of another length would change the
memory layout. Only the worker's modules are imported, not ``sandbox/__init__`` and its imports. The standard library's
fork hooks (new random numbers, locks) take longer than the fork itself, and no worker needs them."""
FLAGS = ("-S", "-s", "-P")
"""Import only the standard library, and nothing that the installation imports at start-up. Never use -I or -E: they
ignore PYTHONHASHSEED."""
ENVIRONMENT = {"PYTHONHASHSEED": "0", "LD_BIND_NOW": "1", "TZ": "UTC0"}
"""Fixes the order of sets of strings and the time zone; library functions are resolved once, not in each worker."""
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""A process with threads cannot be forked safely."""
READ_PERSONALITY, FIXED_ADDRESSES = 0xFFFFFFFF, 0x0040000 | 0x0200000
"""ADDR_NO_RANDOMIZE and ADDR_COMPAT_LAYOUT. Without the second, plan code takes an eighth longer."""
START_SECONDS = 60.0
ANSWER_SECONDS = 30.0
MAX_ANSWER = 1 << 16
READY = 2
"""Number of workers forked ahead, so that sessions of two threads, or of nested plans, need not wait for each other."""
MAX_SECONDS = 2**31 - 1
"""Maximum seconds of processor time that fit into LIMIT."""


class Zygote:
    """One zygote process with some workers always forked ahead. Raises WorkerFailed if it cannot be started."""

    def __init__(self, *, guarded: bool, without: Collection[str] = (), modules: Collection[str] = ()) -> None:
        self._lock, self._owner = threading.Lock(), os.getpid()
        self._control, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with os.fdopen(os.memfd_create("stderr")) as output:
            with theirs:
                self._process = _start(theirs, output.fileno(), ENVIRONMENT | ONE_THREAD if modules else ENVIRONMENT)
            self._end = weakref.finalize(self, _end_zygote, self._process, self._control, self._owner)
            try:
                self._configure(without, modules, guarded=guarded)
                self.reported: dict[str, str] = self._read_report(output.fileno())
                for _ in range(READY):
                    self.request_worker(Limits().memory_mb)
            except BaseException:
                self._end()
                raise

    def _configure(self, without: Collection[str], modules: Collection[str], *, guarded: bool) -> None:
        """Send the configuration. As arguments it would stay visible as long as the zygote lives."""
        folder = str(Path(__file__).resolve().parent)
        path = [entry for entry in sys.path if entry and Path(entry).is_absolute()] if modules else []
        config = {"folder": folder, "without": [*without], "guarded": guarded, "modules": [*modules], "path": path}
        with suppress(OSError):  # a zygote that has ended says why on stderr
            self._control.send(json.dumps(config).encode())

    def _read_report(self, stderr: int) -> dict[str, str]:
        self._control.settimeout(START_SECONDS)
        try:
            report = _read(self._control.recv(MAX_ANSWER))
        except OSError as error:
            report = {"failed": repr(error)}
        if "granted" not in report:
            output = report.get("failed", "") + os.pread(stderr, MAX_ANSWER, 0).decode(errors="replace")
            raise WorkerFailed(f"the zygote did not start ({sys.executable}): {output}".rstrip())
        return dict(report["granted"])

    def take_worker(self, memory_mb: int) -> WorkerProcess:
        """Return a locked-down worker that was forked ahead. The caller requests the next one when it has time.

        A worker is forked with its memory limit. Waiting workers with another limit are discarded, so consecutive
        sessions should use the same limit. Raises ChannelClosed if the zygote is gone or does not answer, in which case
        it is ended, and WorkerFailed for any other failure.
        """
        if os.getpid() != self._owner:
            raise WorkerFailed("the sandbox belongs to another process: open one of your own")
        with self._lock:
            while True:
                worker, its_memory_mb = self._next_worker()
                if its_memory_mb == memory_mb:
                    return worker
                worker.kill()
                self.request_worker(memory_mb)

    def request_worker(self, memory_mb: int) -> None:
        """Request another worker without waiting for it. If the zygote is gone, ``take_worker`` raises."""
        with suppress(OSError):
            self._control.send(memory_mb.to_bytes(MEMORY_BYTES))

    def limit(self, pid: int, seconds: int) -> None:
        """Have the kernel end a worker once it has used this much processor time since its start.

        The zygote sets the limit: it has the worker's user id, which the host may not have.
        """
        with suppress(OSError):
            self._control.send(LIMIT.pack(pid, min(seconds, MAX_SECONDS)))

    def _next_worker(self) -> tuple[WorkerProcess, int]:
        """Return the worker of the oldest request, and its memory limit in MB."""
        if self.is_gone():  # answers that it sent before could still be received
            self._end()
            raise ChannelClosed("the zygote ended")
        try:
            self._control.settimeout(ANSWER_SECONDS)
            answer, descriptors, _, _ = socket.recv_fds(self._control, MAX_ANSWER, 2, socket.MSG_CMSG_CLOEXEC)
        except OSError as error:
            self._end()
            raise ChannelClosed(f"the zygote does not answer ({error!r})") from error
        if not answer:
            self._end()
            raise ChannelClosed("the zygote ended")
        report = _read(answer)
        if len(descriptors) != 2:
            for descriptor in descriptors:
                os.close(descriptor)
            self.request_worker(Limits().memory_mb)
            raise WorkerFailed(f"the zygote could not fork a worker: {report.get('failed', 'too many open files')}")
        sock, pidfd = descriptors
        channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, sock)
        return WorkerProcess(channel, pidfd, report["pid"], self.is_gone, self.limit), report["memory_mb"]

    def is_gone(self) -> bool:
        """Return whether the zygote has ended, and with it every worker."""
        return not self._end.alive or self._process.poll() is not None

    def close(self) -> None:
        """End the zygote, and with it every worker. Closing twice is harmless."""
        with self._lock:
            self._end()


def _read(answer: bytes) -> dict[str, Any]:
    return dict(json.loads(answer)) if answer else {}


def _start(control: socket.socket, stderr: int, environment: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    """Start and return the process, detached from the terminal, so that Ctrl-C there reaches only the host."""
    command = [sys.executable, *FLAGS, "-c", BOOT]
    try:
        with _fixed_addresses():
            return subprocess.Popen(
                command,
                env=environment,
                cwd="/",
                stdin=control.fileno(),
                stdout=subprocess.DEVNULL,
                stderr=stderr,
                start_new_session=True,
            )
    except OSError as error:
        raise WorkerFailed(f"the zygote did not start ({sys.executable}): {error}") from error


@contextmanager
def _fixed_addresses() -> Iterator[None]:
    """Use fixed addresses for processes that this thread starts, if the kernel allows it.

    Then ``id`` and the order of a set of objects are the same in every zygote on a machine.
    """
    personality = ctypes.CDLL(None).personality
    before = personality(READ_PERSONALITY)
    personality(before | FIXED_ADDRESSES)
    try:
        yield
    finally:
        personality(before)


def _end_zygote(process: "subprocess.Popen[bytes]", control: socket.socket, owner: int) -> None:
    """End the process. Runs once: on close, garbage collection or exit. A fork of the host closes only the socket."""
    control.close()
    if os.getpid() == owner:
        process.kill()
        process.wait()
