"""Episodes side by side: threads of this process, each with a world of its own, stopped together."""

import logging
import os
import queue
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, Self, TypeVar

from pydantic import BaseModel

from planbook.envs import Environment, EnvironmentBroken, EnvsError
from planbook.episodes.steering import Steering
from planbook.errors import INTERRUPTED
from planbook.planner import Budget, EpisodeStopped, JournalFailed, Roles
from planbook.planner.models.waiting import Timeouts
from planbook.planner.roles import SILENT
from planbook.run import Entry
from planbook.sandbox import Sandbox

LOG = logging.getLogger(__name__)
STOPPING = "Stopping: what is under way ends at its next action or model call; Ctrl-C again ends it at once."
Executor = Literal["threads", "processes", "ray"]
OpenRoles = Callable[[Callable[[], bool]], Roles]
Result = TypeVar("Result")
Hand = AbstractContextManager[Callable[[Entry], Result]]
"""What plays one episode after the other in a thread; entered and left in that thread."""
_Told = tuple[Entry, Result] | BaseException | None
"""By a thread: an episode and what it came to, what a hand raised, or that it was stopped."""


@dataclass(frozen=True)
class Hosting:
    """How episodes are hosted: how many side by side, what may be spent at which prices.

    ``timeouts`` says how long models are waited for, if not as long as before.

    ``unsafe_no_sandbox`` lets plans run where the kernel cannot confine them; ``allow_changed`` lets a run go on with
    other data, prompts or knowledge than it was begun with. ``executor`` says where episodes are played: in threads of
    this process, in worker processes of this machine, or on a Ray cluster. ``steering`` lets others stop and pause this
    one run; it is stopped when the run is stopped otherwise, too.
    """

    jobs: int = 1
    unsafe_no_sandbox: bool = False
    budget: Budget | None = None
    prices: Path | None = None
    timeouts: Timeouts | None = None
    executor: Executor = "threads"
    steering: Steering | None = None
    allow_changed: bool = False


class Lane:
    """What one thread works with: the shared sandbox, and a world that is made anew after it broke."""

    def __init__(
        self,
        world_class: type[Environment],
        options: BaseModel,
        sandbox: Sandbox,
        guard: Callable[[], None],
        roles: Roles = SILENT,
    ) -> None:
        self.sandbox, self.guard, self.roles = sandbox, guard, roles
        self._world_class, self._options = world_class, options
        self._world: Environment | None = None

    def world(self) -> Environment:
        """The lane's world. Raises EnvironmentBroken if it cannot be made, MissingRequirement."""
        if self._world is None:
            try:
                self._world = self._world_class(self._options)
            except EnvsError:
                raise
            except Exception as error:
                name = self._world_class.__name__
                raise EnvironmentBroken(f"{name} could not be made: {type(error).__name__}: {error}") from error
        return self._world

    def drop_world(self) -> None:
        """Give the world back; the next episode gets a new one."""
        if self._world is not None:
            self._world.close()
            self._world = None

    @contextmanager
    def open(self, play_one: Callable[[Entry, Self], Result]) -> Iterator[Callable[[Entry], Result]]:
        """How the lane plays an entry; at the end it gives its world back."""
        try:
            yield lambda entry: play_one(entry, self)
        finally:
            self.drop_world()


def side_by_side(
    entries: Sequence[Entry],
    world_class: type[Environment],
    options: BaseModel,
    play_one: Callable[[Entry, Lane], Result],
    on_result: Callable[[Entry, Result], None],
    hosting: Hosting,
    guard: Callable[[], None] = lambda: None,
    open_roles: OpenRoles = lambda stopped: SILENT,
) -> bool:
    """Hand every entry to ``play_one`` in one of the threads, see ``hand_out``.

    ``guard`` is called before every action, and may raise BudgetEnded; ``open_roles`` is told how a waiting model
    learns that it should stop.
    """
    count = min(hosting.jobs if world_class.parallel else 1, len(entries))
    if not count:
        return True
    steering = hosting.steering or Steering()

    def unless_stopped() -> None:
        steering.guard()
        guard()

    with Sandbox(modules=world_class.modules, unsafe_no_sandbox=hosting.unsafe_no_sandbox) as sandbox:
        roles = open_roles(steering.stops).guarded(steering.guard)
        lanes = [Lane(world_class, options, sandbox, unless_stopped, roles) for _ in range(count)]
        return hand_out(entries, [lane.open(play_one) for lane in lanes], on_result, steering)


def hand_out(
    entries: Sequence[Entry],
    hands: Sequence[Hand[Result]],
    on_result: Callable[[Entry, Result], None],
    steering: Steering,
) -> bool:
    """Give every entry to one of the hands, each in a thread of its own; results are reported in this thread.

    Returns False if Ctrl-C or ``steering`` stopped it: no further episode begins, and those under way end at their
    next action. What a hand raises is raised here.
    """
    waiting: queue.SimpleQueue[Entry] = queue.SimpleQueue()
    for entry in entries:
        waiting.put(entry)
    results: queue.SimpleQueue[_Told[Result]] = queue.SimpleQueue()
    threads = [threading.Thread(target=_work, args=(hand, waiting, results, steering), daemon=True) for hand in hands]
    finished = False
    try:
        for thread in threads:
            thread.start()
        for _ in entries:
            result = results.get()
            if result is None:
                return False
            if isinstance(result, BaseException):
                raise result
            on_result(*result)
        finished = True
    except KeyboardInterrupt:
        LOG.warning(STOPPING)
        return False
    finally:
        if not finished:
            steering.stop()
        wait_for(threads)
    return True


def _work(
    hand: Hand[Result],
    waiting: queue.SimpleQueue[Entry],
    results: queue.SimpleQueue[_Told[Result]],
    steering: Steering,
) -> None:
    """Play what is waiting, until nothing is or all is stopped; a thread has no other way to raise than to tell."""
    try:
        with hand as play:
            while not steering.stopped:
                entry = waiting.get_nowait()
                results.put((entry, play(entry)))
        results.put(None)
    except queue.Empty:
        return
    except EpisodeStopped:
        results.put(None)
    except JournalFailed as failed:
        results.put(failed.__cause__ or failed)
    except BaseException as error:
        results.put(error)


def wait_for(threads: Sequence[threading.Thread]) -> None:
    """Let the episodes under way come to their next action; a second Ctrl-C does not wait for them.

    The process then ends at once, as if it were killed: what they would write after their sandbox is gone must not be
    taken for endings.
    """
    try:
        for thread in threads:
            if thread.ident is not None:
                thread.join()
    except KeyboardInterrupt:
        os._exit(INTERRUPTED)
