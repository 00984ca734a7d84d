"""Trees are made one thread at a time: CPython's own count of depth is one for all threads."""

import gc
import sys
import threading
import time
from collections.abc import Iterator

import pytest

from planbook.sandbox import parse_source

SOURCE = "\n".join(
    f"def f{number}(a, b):\n    return [a + {number} * (b - each) for each in range(a)]" for number in range(150)
)


class LetsOthersRun:
    """Gives up its turn when it is collected."""

    def __del__(self) -> None:
        time.sleep(0)


@pytest.fixture
def many_turns() -> Iterator[None]:
    """Garbage is collected all the time, in the middle of whatever goes on."""
    threshold, interval = gc.get_threshold(), sys.getswitchinterval()
    gc.set_threshold(20)
    sys.setswitchinterval(1e-5)
    yield
    gc.set_threshold(*threshold)
    sys.setswitchinterval(interval)


@pytest.mark.usefixtures("many_turns")
def test_threads_do_not_upset_each_other() -> None:
    errors: list[BaseException] = []

    def work() -> None:
        for _ in range(25):
            ring: list[object] = [LetsOthersRun() for _ in range(30)]
            ring.append(ring)
            del ring
            try:
                parse_source(SOURCE)
            except SystemError as error:
                errors.append(error)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not errors
