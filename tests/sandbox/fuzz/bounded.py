"""Running a generated program in this very process, within bounds: for the language layer alone."""

import os
import re
import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType

SECONDS = 0.3
AGAIN = 0.05
"""A program may catch the first alarm, not all."""
ROOM = 64 << 20
"""Bytes of address space that it may add."""
ENDLESS = re.compile(r"\b(count|cycle|repeat|iter)\b")
"""What makes endless loops of C out of few letters: no alarm gets through, so they are for the process layer."""


class TooLong(BaseException):
    """The program was at it for too long."""


def may_run(source: str) -> bool:
    """Whether an alarm can end the program."""
    return ENDLESS.search(source) is None


@contextmanager
def bounded() -> Iterator[None]:
    """End quietly what takes too long; MemoryError in what takes too much. In a main thread; processor time counts."""
    with open("/proc/self/statm", encoding="ascii") as statm:
        now = int(statm.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    space, handler = resource.getrlimit(resource.RLIMIT_AS), signal.signal(signal.SIGVTALRM, _alarm)

    def off() -> None:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        resource.setrlimit(resource.RLIMIT_AS, space)
        signal.signal(signal.SIGVTALRM, handler)

    resource.setrlimit(resource.RLIMIT_AS, (now + ROOM, space[1]))
    signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS, AGAIN)
    try:
        try:
            yield
        finally:
            off()
    except TooLong:
        off()  # the alarm may have come in the middle of the first


def _alarm(number: int, frame: FrameType | None) -> None:
    raise TooLong
