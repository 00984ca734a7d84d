"""The process that workers are forked from: started once per sandbox, its environment empty, nothing of the host in it.

It imports what plans need, gives up once what workers inherit as given up, and then forks a worker for each packet that
comes in on its control socket: the memory that it may have, in MB. The answer carries the worker's number, its memory
and, as descriptors, the host's end of the worker's channel and a pidfd. It ends when the control socket closes or the
host dies: it watches the host by a pidfd, since the kernel's parent-death signal comes already when the thread that
started it ends.
"""

import _socket
import json
import os
import select
import signal
import socket
import struct
import sys
import traceback
import warnings
from typing import NoReturn

from sandbox.protocol import MEMORY_BYTES
from sandbox.worker import imports, lockdown, seccomp, serve

CHANNEL, CONTROL = 3, 4
"""The channel's descriptor, in a worker the only one beside 0, 1 and 2; the control socket's."""
DESCRIPTORS = struct.Struct("ii")
OPEN_MAX = os.sysconf("SC_OPEN_MAX")


def main(control_number: int, *, host: int, confined: bool, guarded: bool) -> None:
    """Serve until the host, whose process number is given, is gone; the control socket has that descriptor."""
    os.dup2(control_number, CONTROL)
    os.closerange(CONTROL + 1, OPEN_MAX)
    control, channel = socket.socket(fileno=CONTROL), _channel()
    try:
        watched = os.pidfd_open(_parent(host))
        _quiet()
        nature, granted = _settle(channel, confined=confined, guarded=guarded)
    except Exception:
        control.send(json.dumps({"failed": traceback.format_exc()}).encode())
        return
    control.send(json.dumps({"granted": granted}).encode())
    _fork_on_request(control, watched, nature)


def _parent(expected: int) -> int:
    parent = os.getppid()
    if parent != expected:
        raise ProcessLookupError("the host is gone")
    return parent


def _quiet() -> None:
    """Nothing is inherited on 0 to 2, nothing is written there; children are reaped by the kernel."""
    null = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 1, 2):
        os.dup2(null, descriptor)
    os.close(null)
    sys.stdin = None
    sys.argv = sys.orig_argv = []
    warnings.simplefilter("ignore")
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)


def _settle(channel: socket.socket, *, confined: bool, guarded: bool) -> tuple[serve.Nature, dict[str, str]]:
    """Import, lock, freeze; what workers are born with, and mechanism to empty or why it was not granted."""
    cells = serve.prepare(channel, guarded=guarded)
    with open("/proc/self/statm", encoding="ascii") as statm:
        idle_bytes = int(statm.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    imports.close_imports(confined=confined)
    if not confined:
        return serve.Nature(cells, False, None, idle_bytes), {}
    granted = lockdown.lock_zygote()
    try:
        program = seccomp.prepare()
    except OSError as error:
        program, granted["seccomp"] = None, str(error)
    return serve.Nature(cells, True, program, idle_bytes), granted


def _channel() -> socket.socket:
    """A socket of the channel's number, in whose place each worker puts its own."""
    place, other = socket.socketpair()
    other.close()
    os.dup2(place.detach(), CHANNEL)
    return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM, 0, CHANNEL)


def _fork_on_request(control: socket.socket, host: int, nature: serve.Nature) -> None:
    poll = select.poll()
    poll.register(control, select.POLLIN)
    poll.register(host, select.POLLIN)
    zygote = os.getpid()
    while True:
        for ready, _ in poll.poll():
            asked = b"" if ready == host else control.recv(MEMORY_BYTES)
            if not asked:
                return
        try:
            _fork(control, zygote, nature, int.from_bytes(asked))
        except OSError as error:
            control.send(json.dumps({"failed": f"fork: {error}"}).encode())


def _fork(control: socket.socket, zygote: int, nature: serve.Nature, memory_mb: int) -> None:
    """Fork a worker, and tell the host.

    By the C library's own sockets: after a fork this process copies each page that it writes to, too.
    """
    ours, theirs = _socket.socketpair()
    worker = os.fork()
    if worker == 0:
        _become_worker(theirs, zygote, nature, memory_mb)
    theirs.close()
    pidfd = os.pidfd_open(worker)
    handed = DESCRIPTORS.pack(ours.fileno(), pidfd)
    told = b'{"pid":%d,"memory_mb":%d}' % (worker, memory_mb)
    control.sendmsg([told], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, handed)])
    os.close(pidfd)
    ours.close()


def _become_worker(sock: _socket.socket, zygote: int, nature: serve.Nature, memory_mb: int) -> NoReturn:
    """In the forked process: keep one socket of all that was open, serve, and end without a way back."""
    try:
        lockdown.die_with_parent(zygote)
        os.dup2(sock.fileno(), CHANNEL)
        os.closerange(CHANNEL + 1, OPEN_MAX)
        serve.serve(nature, memory_mb)
    finally:
        os._exit(0)
