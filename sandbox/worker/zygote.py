"""The zygote: the process that workers are forked from. Each sandbox starts one, with fixed environment variables.

Workers are the processes in which plan code runs. The host is the process that opens sessions. The zygote imports what
plans need, drops the privileges that no worker may have, and then serves two kinds of requests on its control socket:

- Fork a worker with a memory limit in MB. The answer contains the worker's pid, its memory limit and two descriptors:
  the host's end of the channel to the worker, and the worker's pidfd.
- Set a worker's limit on processor time. There is no answer.

The zygote ends when the control socket closes or the host dies. It watches the host through the host's pidfd, a file
descriptor that refers to the process. The kernel's parent-death signal would come too early: the kernel sends it when
the thread that started the zygote ends.

If a pid namespace is available, workers run in it. Before the first worker, the zygote forks the namespace's process 1,
its init process. When the zygote dies, the init process dies, and with it every worker.
"""

import _socket
import json
import os
import resource
import select
import signal
import socket
import struct
import sys
import traceback
import warnings
from contextlib import suppress
from typing import NoReturn

from planbook.sandbox.protocol import CPU_LIMIT_REQUEST
from planbook.sandbox.worker import determinism, language, lockdown, serve

NULL, CHANNEL, CONTROL = 0, 3, 4
"""The descriptors of the null device, of a worker's channel, and of the zygote's control socket. A worker has open only
its channel, and the null device as descriptors 0, 1 and 2.
"""
DESCRIPTOR_PAIR, CREDENTIALS = struct.Struct("ii"), struct.Struct("3i")
NAMESPACE_END_SECONDS = 1.0
"""Maximum seconds to wait for the end of the pid namespace's init process after a failed fork. The fork may have failed
because the init process is dying: no process can then be forked in the namespace.
"""
OPEN_MAX = os.sysconf("SC_OPEN_MAX")


def main(standard_input: socket.socket, *, disabled: list[str], modules: list[str], language_layer: bool) -> None:
    """Serve requests until the host is gone.

    ``standard_input`` is the control socket, which is moved to another descriptor. ``disabled`` names the kernel
    mechanisms that are not used, and ``modules`` the packages that plans may import.
    """
    os.dup2(standard_input.detach(), CONTROL)
    os.closerange(CONTROL + 1, OPEN_MAX)
    control, channel = socket.socket(fileno=CONTROL), _new_channel()
    try:
        watched_pidfds, own_pidfd = [os.pidfd_open(_host_pid(control))], os.pidfd_open(os.getpid())
        _detach()
        setup, refusals = _prepare(channel, own_pidfd, frozenset(disabled), modules, language_layer=language_layer)
        if setup.zygote_pidfd is None:
            watched_pidfds.append(_start_namespace_init(own_pidfd))
    except Exception:
        control.send(json.dumps({"failed": traceback.format_exc()}).encode())
        return
    control.send(json.dumps({"refusals": refusals}).encode())
    determinism.hide_process()
    _serve_requests(control, watched_pidfds, setup)


def _host_pid(control: socket.socket) -> int:
    """Return the pid of the host. Raises ProcessLookupError if the host has ended."""
    host_pid: int
    host_pid, _, _ = CREDENTIALS.unpack(control.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size))
    if os.getppid() != host_pid:
        raise ProcessLookupError("the host is gone")
    return host_pid


def _detach() -> None:
    """Replace the inherited descriptors 0, 1 and 2 and the inherited signal settings, and silence most warnings."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)
    sys.stdin = None
    sys.argv = sys.orig_argv = []
    warnings.simplefilter("ignore")
    warnings.filterwarnings("default", module="__main__")  # shows warnings about the plan's own code
    for category in (PendingDeprecationWarning, ImportWarning, ResourceWarning):
        warnings.simplefilter("ignore", category)
    warnings.simplefilter("default", UserWarning)  # a plan may issue these with warnings.warn
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)  # the thread that started the zygote may ignore it
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _prepare(
    channel: socket.socket, own_pidfd: int, disabled: frozenset[str], modules: list[str], *, language_layer: bool
) -> tuple[serve.WorkerSetup, dict[str, str]]:
    """Import modules and drop privileges.

    Return the setup of the workers, and a dict that maps each mechanism to "" if it is granted, or to the reason why it
    is not.
    """
    runner = serve.prepare(channel, modules, language_layer=language_layer)
    with open("/proc/self/statm", encoding="ascii") as statm:
        idle_bytes = int(statm.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    language.restrict_imports(host_only="seccomp" not in disabled)
    refusals, program = lockdown.lock_zygote(disabled), None
    if "seccomp" not in disabled:
        try:
            program = lockdown.make_filter()
        except OSError as error:
            refusals["seccomp"] = str(error)
    zygote_pidfd = own_pidfd if refusals["pid namespace"] else None
    return serve.WorkerSetup(runner, program, idle_bytes, "rlimits" not in disabled, zygote_pidfd), refusals


def _start_namespace_init(own_pidfd: int) -> int:
    """Fork the init process of the pid namespace and return its pidfd. After its end, no worker can be forked."""
    init_pid = os.fork()
    if init_pid == 0:
        lockdown.run_namespace_init(own_pidfd)
    return os.pidfd_open(init_pid)


def _new_channel() -> socket.socket:
    """Return a socket object for the descriptor CHANNEL. The zygote replaces the descriptor for each worker."""
    placeholder, peer = socket.socketpair()
    peer.close()
    os.dup2(placeholder.detach(), CHANNEL)
    return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, CHANNEL)


def _serve_requests(control: socket.socket, watched_pidfds: list[int], setup: serve.WorkerSetup) -> None:
    """Serve requests until the control socket closes or one of the watched processes ends."""
    poll = select.poll()
    for descriptor in (control.fileno(), *watched_pidfds):
        poll.register(descriptor, select.POLLIN)
    while True:
        for ready, _ in poll.poll():
            request = b"" if ready in watched_pidfds else control.recv(CPU_LIMIT_REQUEST.size)
            if not request:
                return
        if len(request) == CPU_LIMIT_REQUEST.size:
            _set_cpu_limit(*CPU_LIMIT_REQUEST.unpack(request))
            continue
        try:
            _fork(control, setup, int.from_bytes(request))
        except OSError as error:
            if select.select(watched_pidfds, [], [], NAMESPACE_END_SECONDS)[0]:
                return
            control.send(json.dumps({"failed": f"fork: {error}"}).encode())


def _set_cpu_limit(worker_pid: int, seconds: int) -> None:
    with suppress(OSError):  # the worker may have ended
        resource.prlimit(worker_pid, resource.RLIMIT_CPU, (seconds, resource.RLIM_INFINITY))


def _fork(control: socket.socket, setup: serve.WorkerSetup, memory_mb: int) -> None:
    """Fork a worker and report it to the host. Raises OSError if that fails.

    After a fork, both processes must copy each memory page to which they write. So this function uses ``_socket`` and
    raw bytes, which write to fewer pages than ``socket`` and ``json``.
    """
    host_end, worker_end = _socket.socketpair()
    os.dup2(worker_end.fileno(), CHANNEL)
    worker_end.close()
    worker_pid = os.fork()
    if worker_pid == 0:
        _become_worker(setup)
    os.dup2(NULL, CHANNEL)
    pidfd = os.pidfd_open(worker_pid)
    try:
        lockdown.limit_resources(worker_pid, setup.idle_bytes + (memory_mb << 20), is_isolated=setup.is_isolated)
        descriptors = DESCRIPTOR_PAIR.pack(host_end.fileno(), pidfd)
        report = b'{"pid":%d,"memory_mb":%d}' % (worker_pid, memory_mb)
        control.sendmsg([report], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)])
    finally:
        os.close(pidfd)
        host_end.close()


def _become_worker(setup: serve.WorkerSetup) -> NoReturn:
    """Run the worker in the forked process: close everything except its channel, serve the host, and exit."""
    try:
        lockdown.die_with_parent(setup.zygote_pidfd)
        os.closerange(CHANNEL + 1, OPEN_MAX)
        serve.serve(setup)
    finally:
        os._exit(0)
