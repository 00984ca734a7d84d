"""What is done again and again beside something else."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager


@contextmanager
def every(seconds: float, do: Callable[[], object]) -> Iterator[None]:
    """Do something in a thread of its own, each time after so many seconds of rest; at the end no longer."""
    over = threading.Event()

    def repeat() -> None:
        while not over.wait(seconds):
            do()

    thread = threading.Thread(target=repeat, daemon=True)
    thread.start()
    try:
        yield
    finally:
        over.set()
        thread.join()
