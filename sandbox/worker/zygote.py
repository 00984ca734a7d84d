"""The process that workers are forked from: started once per sandbox, its environment empty, nothing of the host in it.

It imports what plans need, gives up once what workers inherit as given up, and then does what comes in on its control
socket. It forks a worker that may have so much memory, in MB: the answer carries the worker's number, its memory and,
as descriptors, the host's end of the worker's channel and a pidfd. Or it limits the processor time of a worker. It ends
when the control socket closes or the host dies: it watches the host by a pidfd, since the kernel's parent-death signal
comes already when the thread that started it ends.
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
"""The descriptors of the null device, of the channel, in a worker the only one beside 0, 1 and 2, and of control."""
DESCRIPTORS, CREDENTIALS = struct.Struct("ii"), struct.Struct("3i")
KEEPER_SECONDS = 1.0
"""How long it takes a pid namespace at most to end once no process can be forked in it any more."""
OPEN_MAX = os.sysconf("SC_OPEN_MAX")


def main(standard_input: socket.socket, *, without: list[str], modules: list[str], guarded: bool) -> None:
    """Serve until the host, at the other end of the control socket, is gone."""
    os.dup2(standard_input.detach(), CONTROL)
    os.closerange(CONTROL + 1, OPEN_MAX)
    control, channel = socket.socket(fileno=CONTROL), _channel()
    try:
        watched, own = [os.pidfd_open(_parent(control))], os.pidfd_open(os.getpid())
        _quiet()
        nature, granted = _settle(channel, own, frozenset(without), modules, guarded=guarded)
        if nature.parent is None:
            watched.append(_keeper(own))
    except Exception:
        control.send(json.dumps({"failed": traceback.format_exc()}).encode())
        return
    control.send(json.dumps({"granted": granted}).encode())
    determinism.hide_process()
    _fork_on_request(control, watched, nature)


def _parent(control: socket.socket) -> int:
    """Return the number of the host. Raises ProcessLookupError if it is gone."""
    host: int
    host, _, _ = CREDENTIALS.unpack(control.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, CREDENTIALS.size))
    if os.getppid() != host:
        raise ProcessLookupError("the host is gone")
    return host


def _quiet() -> None:
    """Nothing is inherited on 0 to 2, nothing is written there; children are reaped by the kernel."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)
    sys.stdin = None
    sys.argv = sys.orig_argv = []
    warnings.simplefilter("ignore")
    warnings.simplefilter("default", UserWarning)  # what a plan says itself
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)


def _settle(
    channel: socket.socket, own: int, without: frozenset[str], modules: list[str], *, guarded: bool
) -> tuple[serve.Nature, dict[str, str]]:
    """Import, lock, freeze; what workers are born with, and mechanism to empty or why it was not granted."""
    cells = serve.prepare(channel, modules, guarded=guarded)
    with open("/proc/self/statm", encoding="ascii") as statm:
        idle_bytes = int(statm.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    language.close_imports(confined="seccomp" not in without)
    granted, program = lockdown.lock_zygote(without), None
    if "seccomp" not in without:
        try:
            program = lockdown.make_filter()
        except OSError as error:
            granted["seccomp"] = str(error)
    parent = own if granted["pid namespace"] else None
    return serve.Nature(cells, program, idle_bytes, "rlimits" not in without, parent), granted


def _keeper(own: int) -> int:
    """Fork process 1 of the pid namespace; return a pidfd of it. Once it ends, no worker can be forked any more."""
    keeper = os.fork()
    if keeper == 0:
        lockdown.keep_namespace(own)
    return os.pidfd_open(keeper)


def _channel() -> socket.socket:
    """A socket of the channel's number, in whose place each worker has its own."""
    place, other = socket.socketpair()
    other.close()
    os.dup2(place.detach(), CHANNEL)
    return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, CHANNEL)


def _fork_on_request(control: socket.socket, watched: list[int], nature: serve.Nature) -> None:
    """Fork until the control socket closes or a process that is watched, by its pidfd, ends."""
    poll = select.poll()
    for each in (control.fileno(), *watched):
        poll.register(each, select.POLLIN)
    while True:
        for ready, _ in poll.poll():
            asked = b"" if ready in watched else control.recv(LIMIT.size)
            if not asked:
                return
        if len(asked) == LIMIT.size:
            _limit(*LIMIT.unpack(asked))
            continue
        try:
            _fork(control, nature, int.from_bytes(asked))
        except OSError as error:
            if select.select(watched, [], [], KEEPER_SECONDS)[0]:
                return
            control.send(json.dumps({"failed": f"fork: {error}"}).encode())


def _limit(worker: int, seconds: int) -> None:
    with suppress(OSError):  # it may have ended
        resource.prlimit(worker, resource.RLIMIT_CPU, (seconds, resource.RLIM_INFINITY))


def _fork(control: socket.socket, nature: serve.Nature, memory_mb: int) -> None:
    """Fork a worker, and tell the host. Raises OSError.

    By the C library's own sockets: after a fork this process copies each page that it writes to, too; and a worker
    copies each page of what it does itself.
    """
    ours, theirs = _socket.socketpair()
    os.dup2(theirs.fileno(), CHANNEL)
    theirs.close()
    worker = os.fork()
    if worker == 0:
        _become_worker(nature)
    os.dup2(NULL, CHANNEL)
    pidfd = os.pidfd_open(worker)
    try:
        lockdown.bound(worker, nature.idle_bytes + (memory_mb << 20), alone=nature.alone)
        handed = DESCRIPTORS.pack(ours.fileno(), pidfd)
        told = b'{"pid":%d,"memory_mb":%d}' % (worker, memory_mb)
        control.sendmsg([told], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, handed)])
    finally:
        os.close(pidfd)
        ours.close()


def _become_worker(nature: serve.Nature) -> NoReturn:
    """In the forked process: keep one socket of all that was open, serve, and end without a way back."""
    try:
        lockdown.die_with_parent(nature.parent)
        os.closerange(CHANNEL + 1, OPEN_MAX)
        serve.serve(nature)
    finally:
        os._exit(0)
