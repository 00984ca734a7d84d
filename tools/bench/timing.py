"""Times of short pieces of work, measured so that a busy machine distorts ratios as little as possible."""

import threading
import time
from collections.abc import Callable, Sequence


def seconds(work: Callable[[], object]) -> float:
    """Return the wall-clock time of one call."""
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def cpu_seconds(work: Callable[[], object]) -> float:
    """Return the processor time that this process spends on one call."""
    start = time.process_time()
    work()
    return time.process_time() - start


def seconds_together(works: Sequence[Callable[[], object]]) -> float:
    """Call each function in its own thread; return the wall-clock time until the last one is done."""
    threads = [threading.Thread(target=work) for work in works]
    start = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return time.perf_counter() - start


def interleave(works: Sequence[Callable[[], float]], repeats: int) -> list[list[float]]:
    """Return a list of ``repeats`` results for each function.

    The functions are called in turn, so that the load of the machine affects all alike. The first round is a warm-up
    and is not counted.
    """
    rounds = [[work() for work in works] for _ in range(repeats + 1)]
    return [list(column) for column in zip(*rounds[1:], strict=True)]


def percentile(times: Sequence[float], share: float) -> float:
    """Return a percentile of the times: ``share`` (0 to 1) of them are at most as long."""
    ranked = sorted(times)
    return ranked[min(int(share * len(ranked)), len(ranked) - 1)]
