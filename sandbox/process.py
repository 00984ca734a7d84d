"""The processes behind sessions, as the host sees them: the zygote, and the workers that it forks.

The host is the process that opens sessions. A worker runs the plan code of one session, in pieces that are called
cells. The zygote is a process that has imported everything that a worker needs, so that forking a worker from it takes
little time. A pidfd is a file descriptor that refers to a process.
"""

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

from planbook.sandbox.protocol import (
    CPU_LIMIT_REQUEST,
    FIRST_CPU_SECONDS,
    FORK_REQUEST_BYTES,
    MAX_HOST_FRAME,
    MAX_WORKER_FRAME,
    Channel,
    ChannelClosed,
)
from planbook.sandbox.types import Limits, WorkerFailed

INFO_BYTES = 64
"""Size of the first version of the kernel's ``struct pidfd_info``."""
PIDFD_GET_INFO = 3 << 30 | INFO_BYTES << 16 | 0xFF << 8 | 11
INFO_EXIT = 1 << 3
EXIT_CODE_OFFSET = 60
WAIT_MS = 200
"""Maximum milliseconds to wait until a worker whose socket is closed has ended."""
MAX_CRASHES = 2
"""Number of workers that must crash at the same place in a plan before the plan is held responsible."""
MAX_KILLS = 5
"""Number of workers that must be killed at the same place in a plan before the session gives up. Even then the plan is
not held responsible, since it cannot send SIGKILL.
"""


def was_killed(pidfd: int) -> bool:
    """Return whether SIGKILL ended the process that the pidfd refers to. It need not be a child of this process.

    Linux 6.15 and later report this while a pidfd for the process is open. On older kernels, return False.
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
    """Counts the workers that were lost at the same place while one cell ran or a session was rebuilt.

    The place is the number of exchanges between the worker and the host. If a worker gets further than all earlier
    ones, ``crashes`` and ``kills`` start from zero again, since the plan does not crash every worker at the earlier
    place. ``total`` and ``has_crashes`` cover all places.
    """

    def __init__(self) -> None:
        self._most_exchanges = -1
        self.crashes, self.kills, self.total, self.has_crashes = 0, 0, 0, False

    def count(self, exchanges: int, *, killed: bool) -> None:
        """Count a worker that was lost after this number of exchanges."""
        if exchanges > self._most_exchanges:
            self._most_exchanges, self.crashes, self.kills = exchanges, 0, 0
        self.total += 1
        self.has_crashes = self.has_crashes or not killed
        if killed:
            self.kills += 1
        else:
            self.crashes += 1


SLICE_SECONDS = 0.01
"""Seconds that the host waits in the kernel between checks of the limits."""
_TIMEOUT = struct.pack("ll", 0, int(SLICE_SECONDS * 1e6))


class WorkerProcess:
    """The worker process of one session. It ends when this object is garbage-collected.

    The object owns ``sock`` and ``pidfd``, and closes them when it ends the process. ``is_orphan`` returns whether the
    zygote has ended, in which case the kernel has killed the worker too. ``set_cpu_limit`` takes the worker's pid and
    the total seconds of processor time that the worker may use.
    """

    def __init__(
        self,
        sock: socket.socket,
        pidfd: int,
        pid: int,
        is_orphan: Callable[[], bool] = lambda: False,
        set_cpu_limit: Callable[[int, int], None] = lambda pid, seconds: None,
    ) -> None:
        self._sock, self._pidfd, self._pid, self._is_stopped = sock, pidfd, pid, False
        self._is_orphan, self._set_cpu_limit, self._cpu_limit = is_orphan, set_cpu_limit, FIRST_CPU_SECONDS
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVTIMEO, _TIMEOUT)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, _TIMEOUT)
        self._end = weakref.finalize(self, _end_worker, sock, pidfd, os.getpid())
        self._end.atexit = False  # when the host ends, the kernel ends the worker
        self._channel = Channel(sock, send_cap=MAX_HOST_FRAME, receive_cap=MAX_WORKER_FRAME)
        self.receive, self.is_quiet = self._channel.receive, self._channel.is_quiet

    def send(self, payload: bytes, on_wait: Callable[[], None]) -> None:
        """Resume the worker if it is stopped, and send one message as ``Channel.send`` does."""
        if self._is_stopped:
            self._is_stopped = False
            self._signal(signal.SIGCONT)
        self._channel.send(payload, on_wait)

    def stop(self) -> None:
        """Stop the process, so that it gets no processor time until the next message is sent to it."""
        self._is_stopped = True
        self._signal(signal.SIGSTOP)

    def _signal(self, number: signal.Signals) -> None:
        if self._end.alive:
            with suppress(ProcessLookupError):
                signal.pidfd_send_signal(self._pidfd, number)

    def cpu_seconds(self) -> float:
        """Return the processor time that the process has used, or infinity if it has ended.

        The pid identifies the clock, but once the worker has ended, another process may have the same pid. A pidfd
        always refers to the same process. So signal 0, which has no effect, is sent to it: that fails if the worker has
        ended.
        """
        try:
            used = time.clock_gettime((~self._pid << 3) | 2)  # the kernel's number for a process's CPU clock
            signal.pidfd_send_signal(self._pidfd, 0)
        except OSError:
            return inf
        return used

    def allow_cpu_seconds(self, seconds: float) -> None:
        """Let the process use this much more processor time. The kernel ends it at most two seconds after that.

        While the host waits for the worker, it also checks the processor time itself, and more exactly. At all other
        times, this limit of the kernel is the only one.
        """
        used = self.cpu_seconds()
        if used < inf and (limit := ceil(used + seconds) + 1) != self._cpu_limit:
            self._cpu_limit = limit
            self._set_cpu_limit(self._pid, limit)

    def was_killed(self) -> bool:
        """Return whether this worker was killed from outside.

        A worker whose zygote has ended always counts as killed: the kernel reports how such an orphan ended only after
        its new parent has waited for it, which may never happen.
        """
        return self._end.alive and (was_killed(self._pidfd) or self._is_orphan())

    def kill(self) -> None:
        """End the process and close its descriptors. Killing twice is harmless."""
        self._end()


def _end_worker(sock: socket.socket, pidfd: int, host_pid: int) -> None:
    """Kill a worker and close its descriptors. In a process that was forked from the host, only close them."""
    if os.getpid() == host_pid:
        with suppress(ProcessLookupError):
            signal.pidfd_send_signal(pidfd, signal.SIGKILL)
    os.close(pidfd)
    sock.close()


BOOT_CODE = """
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
"""The first code that the zygote runs.

The zygote receives its configuration through a socket, its standard input. Command-line arguments are not used, since
their length would affect the memory layout, which must always be the same. The code imports only the worker's modules,
not ``sandbox/__init__`` and its imports. It disables the hooks with which the standard library renews random numbers
and locks after a fork: no worker needs them, and they take longer than the fork itself.
"""
PYTHON_FLAGS = ("-S", "-s", "-P")
"""Options that make Python import only the standard library, and run no code of installed packages at start-up. The
options -I and -E cannot be used, since they make Python ignore PYTHONHASHSEED.
"""
VARIABLES = {"PYTHONHASHSEED": "0", "LD_BIND_NOW": "1", "TZ": "UTC0"}
"""The zygote's environment variables. PYTHONHASHSEED fixes the order of sets of strings, and TZ the time zone.
LD_BIND_NOW resolves the functions of shared libraries once, in the zygote, and not again in each worker.
"""
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
"""Variables that keep packages such as numpy from starting threads. A process with threads cannot be forked safely."""
READ_PERSONALITY, FIXED_ADDRESSES = 0xFFFFFFFF, 0x0040000 | 0x0200000
"""Arguments of the C function ``personality``. The first reads the current setting. The second sets ADDR_NO_RANDOMIZE
and ADDR_COMPAT_LAYOUT; without the latter, plan code runs about 12 % slower.
"""
START_SECONDS = 60.0
ANSWER_SECONDS = 30.0
MAX_ANSWER = 1 << 16
READY_WORKERS = 2
"""Number of workers that are forked in advance, so that two sessions that open at the same time need not wait."""
MAX_SECONDS = 2**31 - 1
"""The largest number of seconds that fits into CPU_LIMIT_REQUEST."""


class Zygote:
    """The zygote process, and the workers that it has forked in advance. Raises WorkerFailed if it cannot be started.

    ``disabled`` names kernel mechanisms that are not used, and ``modules`` the packages that plans may import. If
    ``language_layer``, plans are restricted to a part of Python. The attribute ``refusals`` maps each mechanism to ""
    if the kernel grants it, or to the reason why it does not.
    """

    def __init__(self, *, language_layer: bool, disabled: Collection[str] = (), modules: Collection[str] = ()) -> None:
        self._lock, self._owner_pid = threading.Lock(), os.getpid()
        self._control, child_end = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        with os.fdopen(os.memfd_create("stderr")) as output:
            with child_end:
                self._process = _start_zygote(child_end, output.fileno(), VARIABLES | (ONE_THREAD if modules else {}))
            self._end = weakref.finalize(self, _end_zygote, self._process, self._control, self._owner_pid)
            try:
                self._configure(disabled, modules, language_layer=language_layer)
                self.refusals: dict[str, str] = self._read_report(output.fileno())
                for _ in range(READY_WORKERS):
                    self.request_worker(Limits().memory_mb)
            except BaseException:
                self._end()
                raise

    def _configure(self, disabled: Collection[str], modules: Collection[str], *, language_layer: bool) -> None:
        """Send the configuration through the socket, since any user of the machine can read command-line arguments."""
        folder = str(Path(__file__).resolve().parent)
        path = [entry for entry in sys.path if entry and Path(entry).is_absolute()] if modules else []
        config = {"folder": folder, "disabled": [*disabled], "modules": [*modules], "path": path}
        with suppress(OSError):  # if the zygote has ended, its stderr contains the reason
            self._control.send(json.dumps(config | {"language_layer": language_layer}).encode())

    def _read_report(self, stderr: int) -> dict[str, str]:
        """Return the refusals that the zygote reports once it is ready. Raises WorkerFailed if it did not start."""
        self._control.settimeout(START_SECONDS)
        try:
            report = _parse_report(self._control.recv(MAX_ANSWER))
        except OSError as error:
            report = {"failed": repr(error)}
        if "refusals" not in report:
            output = report.get("failed", "") + os.pread(stderr, MAX_ANSWER, 0).decode(errors="replace")
            raise WorkerFailed(f"the zygote did not start ({sys.executable}): {output}".rstrip())
        return dict(report["refusals"])

    def take_worker(self, memory_mb: int) -> WorkerProcess:
        """Return a worker that was forked in advance. The caller must then call ``request_worker`` to replace it.

        The memory limit of a worker is set when it is forked. Waiting workers with a limit other than ``memory_mb`` are
        discarded, so consecutive sessions should use the same limit. Raises ChannelClosed if the zygote has ended, or
        if it does not answer, in which case this method ends it. Raises WorkerFailed if the zygote cannot fork, or if
        this is not the process that created the sandbox.
        """
        if os.getpid() != self._owner_pid:
            raise WorkerFailed("the sandbox belongs to another process: open a new one in this process")
        with self._lock:
            while True:
                worker, worker_memory_mb = self._next_worker()
                if worker_memory_mb == memory_mb:
                    return worker
                worker.kill()
                self.request_worker(memory_mb)

    def request_worker(self, memory_mb: int) -> None:
        """Request another worker without waiting for it. If the zygote has ended, the next ``take_worker`` raises."""
        with suppress(OSError):
            self._control.send(memory_mb.to_bytes(FORK_REQUEST_BYTES))

    def set_cpu_limit(self, pid: int, seconds: int) -> None:
        """Make the kernel end a worker once it has used this much processor time since its start.

        The host asks the zygote to set the limit, since the zygote has the same user id as the worker, and the host may
        have another one.
        """
        with suppress(OSError):
            self._control.send(CPU_LIMIT_REQUEST.pack(pid, min(seconds, MAX_SECONDS)))

    def _next_worker(self) -> tuple[WorkerProcess, int]:
        """Return the worker of the oldest request, and its memory limit in MB."""
        if self.is_gone():  # checked first, since its last answers, about dead workers, can still be received
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
        report = _parse_report(answer)
        if len(descriptors) != 2:
            for descriptor in descriptors:
                os.close(descriptor)
            self.request_worker(Limits().memory_mb)
            raise WorkerFailed(f"the zygote could not fork a worker: {report.get('failed', 'too many open files')}")
        sock, pidfd = descriptors
        channel = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, sock)
        return WorkerProcess(channel, pidfd, report["pid"], self.is_gone, self.set_cpu_limit), report["memory_mb"]

    def is_gone(self) -> bool:
        """Return whether the zygote has ended, and with it every worker."""
        return not self._end.alive or self._process.poll() is not None

    def close(self) -> None:
        """End the zygote, and with it every worker. Closing twice is harmless."""
        with self._lock:
            self._end()


def _parse_report(answer: bytes) -> dict[str, Any]:
    return dict(json.loads(answer)) if answer else {}


def _start_zygote(control: socket.socket, stderr: int, variables: Mapping[str, str]) -> "subprocess.Popen[bytes]":
    """Start and return the zygote. It is detached from the terminal, so that Ctrl-C reaches only the host."""
    command = [sys.executable, *PYTHON_FLAGS, "-c", BOOT_CODE]
    try:
        with _fixed_addresses():
            return subprocess.Popen(
                command,
                env=variables,
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
    """Give processes that this thread starts in this block fixed memory addresses, if the kernel allows it.

    With fixed addresses, the results of ``id`` and the order of a set of objects are the same in every zygote on a
    machine.
    """
    personality = ctypes.CDLL(None).personality
    previous = personality(READ_PERSONALITY)
    personality(previous | FIXED_ADDRESSES)
    try:
        yield
    finally:
        personality(previous)


def _end_zygote(process: "subprocess.Popen[bytes]", control: socket.socket, host_pid: int) -> None:
    """End the zygote. In a process that was forked from the host, only close the socket.

    It runs only once: when the ``Zygote`` is closed or garbage-collected, or when the host exits.
    """
    control.close()
    if os.getpid() == host_pid:
        process.kill()
        process.wait()
