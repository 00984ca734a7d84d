"""The process that workers are forked from, started once per sandbox, with an empty environment.

It imports what plans need, drops the privileges that no worker may have, and then serves requests on its control
socket. There are two requests. The first forks a worker with a memory limit in MB: the answer has the worker's pid, its
memory limit and, as descriptors, the host's end of the worker's channel and a pidfd. The second sets a worker's limit
on processor time, and has no answer. The zygote ends when the control socket closes or the host dies. It watches the
host through a pidfd, since the kernel sends the parent-death signal as soon as the thread that started the zygote ends.
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

from planbook.sandbox.protocol import LIMIT
from planbook.sandbox.worker import determinism, language, lockdown, serve

NULL, CHANNEL, CONTROL = 0, 3, 4
"""Descriptors of the null device, a worker's channel (its only one except 0, 1 and 2), and the control socket."""
DESCRIPTORS, CREDENTIALS = struct.Struct("ii"), struct.Struct("3i")
KEEPER_SECONDS = 1.0
"""Maximum seconds that a pid namespace takes to end after its first failed fork."""
OPEN_MAX = os.sysconf("SC_OPEN_MAX")


def main(standard_input: socket.socket, *, without: list[str], modules: list[str], guarded: bool) -> None:
    """Serve until the host is gone."""
    os.dup2(standard_input.detach(), CONTROL)
    os.closerange(CONTROL + 1, OPEN_MAX)
    control, channel = socket.socket(fileno=CONTROL), _channel()
    try:
        watched, own_pidfd = [os.pidfd_open(_parent(control))], os.pidfd_open(os.getpid())
        _detach()
        setup, granted = _prepare(channel, own_pidfd, frozenset(without), modules, guarded=guarded)
        if setup.parent is None:
            watched.append(_start_keeper(own_pidfd))
    except Exception:
        control.send(json.dumps({"failed": traceback.format_exc()}).encode())
        return
    control.send(json.dumps({"granted": granted}).encode())
    determinism.hide_process()
    _fork_on_request(control, watched, setup)


def _parent(control: socket.socket) -> int:
    """Return the pid of the host. Raises ProcessLookupError if it is gone."""
    host: int
    host, _, _ = CREDENTIALS.unpack(control.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size))
    if os.getppid() != host:
        raise ProcessLookupError("the host is gone")
    return host


def _detach() -> None:
    """Replace the descriptors 0 to 2 and the signals that were inherited, and silence warnings."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)
    sys.stdin = None
    sys.argv = sys.orig_argv = []
    warnings.simplefilter("ignore")
    warnings.simplefilter("default", UserWarning)  # plans may raise these
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    signal.signal(signal.SIGXCPU, signal.SIG_DFL)  # the host's thread may block or ignore it
    signal.pthread_sigmask(signal.SIG_SETMASK, ())


def _prepare(
    channel: socket.socket, own_pidfd: int, without: frozenset[str], modules: list[str], *, guarded: bool
) -> tuple[serve.WorkerSetup, dict[str, str]]:
    """Import modules and lock down. Return the workers' setup, and by mechanism "" or why it is not granted."""
    cells = serve.prepare(channel, modules, guarded=guarded)
    with open("/proc/self/statm", encoding="ascii") as statm:
        idle_bytes = int(statm.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    language.close_imports(confined="seccomp" not in without)
    problems, program = lockdown.lock_zygote(without), None
    if "seccomp" not in without:
        try:
            program = lockdown.make_filter()
        except OSError as error:
            problems["seccomp"] = str(error)
    parent = own_pidfd if problems["pid namespace"] else None
    return serve.WorkerSetup(cells, program, idle_bytes, "rlimits" not in without, parent), problems


def _start_keeper(own_pidfd: int) -> int:
    """Fork process 1 of the pid namespace and return a pidfd of it. Once it ends, no worker can be forked."""
    keeper = os.fork()
    if keeper == 0:
        lockdown.keep_namespace(own_pidfd)
    return os.pidfd_open(keeper)


def _channel() -> socket.socket:
    """Return a socket with the channel's descriptor, which each worker replaces with its own."""
    place, other = socket.socketpair()
    other.close()
    os.dup2(place.detach(), CHANNEL)
    return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, CHANNEL)


def _fork_on_request(control: socket.socket, watched: list[int], setup: serve.WorkerSetup) -> None:
    """Fork until the control socket closes or a watched process, given by pidfd, ends."""
    poll = select.poll()
    for descriptor in (control.fileno(), *watched):
        poll.register(descriptor, select.POLLIN)
    while True:
        for ready, _ in poll.poll():
            request = b"" if ready in watched else control.recv(LIMIT.size)
            if not request:
                return
        if len(request) == LIMIT.size:
            _limit(*LIMIT.unpack(request))
            continue
        try:
            _fork(control, setup, int.from_bytes(request))
        except OSError as error:
            if select.select(watched, [], [], KEEPER_SECONDS)[0]:
                return
            control.send(json.dumps({"failed": f"fork: {error}"}).encode())


def _limit(worker: int, seconds: int) -> None:
    with suppress(OSError):  # it may have ended
        resource.prlimit(worker, resource.RLIMIT_CPU, (seconds, resource.RLIM_INFINITY))


def _fork(control: socket.socket, setup: serve.WorkerSetup, memory_mb: int) -> None:
    """Fork a worker and report it to the host. Raises OSError.

    ``_socket`` and raw bytes touch fewer pages than ``socket`` and ``json``. After a fork both processes copy each page
    that they write to.
    """
    ours, theirs = _socket.socketpair()
    os.dup2(theirs.fileno(), CHANNEL)
    theirs.close()
    worker = os.fork()
    if worker == 0:
        _become_worker(setup)
    os.dup2(NULL, CHANNEL)
    pidfd = os.pidfd_open(worker)
    try:
        lockdown.limit_resources(worker, setup.idle_bytes + (memory_mb << 20), alone=setup.alone)
        descriptors = DESCRIPTORS.pack(ours.fileno(), pidfd)
        report = b'{"pid":%d,"memory_mb":%d}' % (worker, memory_mb)
        control.sendmsg([report], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, descriptors)])
    finally:
        os.close(pidfd)
        ours.close()


def _become_worker(setup: serve.WorkerSetup) -> NoReturn:
    """Run the forked process: close everything but one socket, serve, and exit."""
    try:
        lockdown.die_with_parent(setup.parent)
        os.closerange(CHANNEL + 1, OPEN_MAX)
        serve.serve(setup)
    finally:
        os._exit(0)
