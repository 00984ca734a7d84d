"""Episodes side by side: threads of this process, each with a world of its own, stopped together."""

import queue
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from pydantic import BaseModel

from envs import Environment
from planbook.run import Entry
from planner import EpisodeStopped
from sandbox import Sandbox

Result = TypeVar("Result")


class Lane:
    """What one thread works with: the shared sandbox, and a world that is made anew after it broke."""

    def __init__(
        self, world_class: type[Environment], options: BaseModel, sandbox: Sandbox, stopped: Callable[[], bool]
    ) -> None:
        self.sandbox, self.stopped = sandbox, stopped
        self._world_class, self._options = world_class, options
        self._world: Environment | None = None

    def world(self) -> Environment:
        """The lane's world."""
        if self._world is None:
            self._world = self._world_class(self._options)
        return self._world

    def drop_world(self) -> None:
        """Give the world back; the next episode gets a new one."""
        if self._world is not None:
            self._world.close()
            self._world = None


def side_by_side(
    entries: Sequence[Entry],
    world_class: type[Environment],
    options: BaseModel,
    play_one: Callable[[Entry, Lane], Result],
    on_result: Callable[[Entry, Result], None],
    jobs: int,
) -> bool:
    """Hand every entry to ``play_one`` in one of ``jobs`` threads; results are reported in this thread.

    Returns False if Ctrl-C stopped it: no further episode begins, and those under way end at their next action. What
    ``play_one`` raises is raised here.
    """
    count = min(jobs if world_class.parallel else 1, len(entries))
    if not count:
        return True
    waiting: queue.SimpleQueue[Entry] = queue.SimpleQueue()
    for entry in entries:
        waiting.put(entry)
    results: queue.SimpleQueue[tuple[Entry, Result] | BaseException] = queue.SimpleQueue()
    stop = threading.Event()

    def work(lane: Lane) -> None:
        try:
            while not stop.is_set():
                entry = waiting.get_nowait()
                results.put((entry, play_one(entry, lane)))
        except (queue.Empty, EpisodeStopped):
            return
        except BaseException as error:
            results.put(error)
        finally:
            lane.drop_world()

    with Sandbox() as sandbox:
        lanes = [Lane(world_class, options, sandbox, stop.is_set) for _ in range(count)]
        threads = [threading.Thread(target=work, args=(lane,), daemon=True) for lane in lanes]
        for thread in threads:
            thread.start()
        try:
            for _ in entries:
                result = results.get()
                if isinstance(result, BaseException):
                    raise result
                on_result(*result)
        except KeyboardInterrupt:
            return False
        finally:
            stop.set()
            for thread in threads:
                thread.join()
    return True
