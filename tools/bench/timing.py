"""Times of short pieces of work, taken so that a busy machine bends the ratios as little as it can."""

import threading
import time
from collections.abc import Callable, Sequence


def seconds(work: Callable[[], object]) -> float:
    """Wall clock of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def cpu_seconds(work: Callable[[], object]) -> float:
    """Processor time of one call, as far as it is spent in this process."""
    start = time.process_time()
    work()
    return time.process_time() - start


def seconds_together(works: Sequence[Callable[[], object]]) -> float:
    """Wall clock until the last is done, each in a thread of its own."""
    threads = [threading.Thread(target=work) for work in works]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - start


def in_turn(works: Sequence[Callable[[], float]], repeats: int) -> list[list[float]]:
    """What each work tells, ``repeats`` times: always one of each after the other, so that all meet the same load.

    The first turn, which warms up, is not counted.
    """
    turns = [[work() for work in works] for _ in range(repeats + 1)]
    return [list(column) for column in zip(*turns[1:], strict=True)]


def percentile(times: Sequence[float], share: float) -> float:
    """The time that ``share`` of the times do not exceed."""
    ranked = sorted(times)
    return ranked[min(int(share * len(ranked)), len(ranked) - 1)]
