"""``queue`` in plans. Python's own waits for another thread; in a plan there is none, so waiting would never end."""

import heapq
from collections import deque
from typing import Any


class Empty(Exception):
    """There is nothing to get."""


class Full(Exception):
    """There is no room to put."""


class Queue:
    """First in, first out."""

    def __init__(self, maxsize: int = 0) -> None:
        self.maxsize, self.queue = maxsize, self._new()

    def _new(self) -> Any:
        return deque[Any]()

    def _add(self, item: object) -> None:
        self.queue.append(item)

    def _take(self) -> Any:
        return self.queue.popleft()

    def qsize(self) -> int:
        """The number of items."""
        return len(self.queue)

    def empty(self) -> bool:
        """Whether there is nothing to get."""
        return not self.queue

    def full(self) -> bool:
        """Whether there is no room to put."""
        return 0 < self.maxsize <= len(self.queue)

    def put(self, item: object, block: bool = True, timeout: float | None = None) -> None:
        """Add an item. Raises Full at once, where Python would wait."""
        if self.full():
            raise Full
        self._add(item)

    def get(self, block: bool = True, timeout: float | None = None) -> Any:
        """Take the next item. Raises Empty at once, where Python would wait."""
        if self.empty():
            raise Empty
        return self._take()

    def put_nowait(self, item: object) -> None:
        """Add an item, or raise Full."""
        self.put(item)

    def get_nowait(self) -> Any:
        """Take the next item, or raise Empty."""
        return self.get()

    def task_done(self) -> None:
        """Nobody waits for it."""

    def join(self) -> None:
        """There is nobody to wait for."""


class PriorityQueue(Queue):
    """The smallest first."""

    def _new(self) -> Any:
        return list[Any]()

    def _add(self, item: object) -> None:
        heapq.heappush(self.queue, item)

    def _take(self) -> Any:
        return heapq.heappop(self.queue)


class LifoQueue(Queue):
    """Last in, first out."""

    def _new(self) -> Any:
        return list[Any]()

    def _take(self) -> Any:
        return self.queue.pop()


class SimpleQueue(Queue):
    """First in, first out, of any size."""

    def __init__(self) -> None:
        super().__init__()


NAMES = {each.__name__: each for each in (Empty, Full, LifoQueue, PriorityQueue, Queue, SimpleQueue)}
