"""Why a worker's process ended, and whether a plan is to blame when several end under it."""

import fcntl
import os
import select
import signal
import struct

INFO_BYTES = 64
"""The kernel's ``struct pidfd_info``, as first published."""
PIDFD_GET_INFO = 3 << 30 | INFO_BYTES << 16 | 0xFF << 8 | 11
INFO_EXIT = 1 << 3
EXIT_CODE_OFFSET = 60
WAIT_MS = 200
"""How long a process that has hung up may take to be gone."""
OWN_ENDS = 2
"""Workers that end at the same place of a plan, until it is the plan that ends them."""
KILLS = 5
"""The same of workers that SIGKILL ended, which no plan can send: then the machine is at fault."""


def was_killed(pidfd: int) -> bool:
    """Whether SIGKILL ended a process, which need not be a child; False where the kernel does not tell.

    Linux tells from 6.15 on; it keeps an ended process's status for as long as somebody has a pidfd of it.
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
    told = struct.unpack_from("Q", info)[0] & INFO_EXIT
    status: int = struct.unpack_from("i", info, EXIT_CODE_OFFSET)[0]
    return bool(told) and os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGKILL


class Losses:
    """The workers that ended under one piece of work.

    One that got further than those before it begins a new count: what a plan does it does at the same place again.
    """

    def __init__(self) -> None:
        self._furthest = -1
        self.ends = self.kills = 0

    def count(self, place: int, *, killed: bool) -> None:
        """One more: after so many answers, and whether it is known to have been killed."""
        if place > self._furthest:
            self._furthest, self.ends, self.kills = place, 0, 0
        if killed:
            self.kills += 1
        else:
            self.ends += 1
