"""The playing end of a run in several processes: what a worker process does when the driver calls it."""

import pickle
import threading
import traceback
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

from planbook.episodes.divergence import Comparison, mute, replay_entry
from planbook.episodes.lanes import Lane
from planbook.episodes.role_models import roles_of
from planbook.episodes.runner import play_out
from planbook.episodes.steering import Steering
from planbook.knowledge.knowing import memory_of
from planbook.planner import Ending, JournalFailed, Meter, Spent
from planbook.run import Entry, Run, RunFile
from planbook.sandbox import Sandbox
from planbook.spending import prices_from
from planbook.store import Place, Store

Steer = Literal["go on", "pause", "stop"]


@dataclass(frozen=True)
class Orders:
    """What a worker is told when it begins. ``spent`` is what all processes have spent by then.

    Files that ``file`` names (a library, a world of one's own) have to be at the same place where the worker runs.
    """

    folder: Path
    store: Place
    file: RunFile
    unsafe_no_sandbox: bool
    prices: Path | None
    spent: Spent
    to_replay: bool = False
    """Whether recorded episodes are played again and compared; nothing is written then."""


class Player:
    """Plays episodes of a run, as many at a time as threads call it; each thread has a lane of its own."""

    def begin(self, orders: Orders) -> None:
        """Open the store and the sandbox, and read what is known beforehand. Raises what these raise."""
        config = orders.file.config
        self._run = Run(orders.folder, orders.file, Store(orders.store, to_write=not orders.to_replay))
        prices, ledger = prices_from(orders.prices), self._run.store.ledger
        self._run.meter = Meter(orders.file.budget, orders.spent, prices, ledger)
        self._steering = Steering()
        if orders.to_replay:
            self._roles = mute(config)
        else:
            self._memory = memory_of(config)
            self._roles = roles_of(self._run, self._steering.stops).guarded(self._steering.guard)
        self._sandbox = Sandbox(modules=config.world.modules, unsafe_no_sandbox=orders.unsafe_no_sandbox)
        self._lanes: list[Lane] = []
        self._own = threading.local()

    def play(self, entry: Entry) -> Ending:
        """Play one episode; what of it was recorded before is repeated. Raises as ``play_out`` does."""
        with self._run.store.hold(entry.index):
            return play_out(self._run, self._memory, entry, self._lane())

    def replay(self, entry: Entry, ending: Ending | None) -> Comparison:
        """Play a recorded episode again, and compare."""
        return replay_entry(self._run, entry, self._lane(), ending)

    def tick(self, total: Spent, steer: Steer) -> Spent:
        """Learn what all processes have spent and whether to go on. Returns what was spent here since the last time."""
        steering = self._steering
        ways: Mapping[Steer, Callable[[], None]] = {
            "go on": steering.go_on,
            "pause": steering.pause,
            "stop": steering.stop,
        }
        ways[steer]()
        meter = self._run.meter
        (meter.stop_clock if steer == "pause" else meter.start_clock)()
        return meter.settle(total)

    def end(self) -> None:
        """Give back worlds, sandbox and store."""
        self._steering.stop()
        for lane in self._lanes:
            lane.drop_world()
        self._sandbox.close()
        self._run.close()

    def _lane(self) -> Lane:
        """The lane of this thread."""
        found: Lane | None = getattr(self._own, "lane", None)
        if found is not None:
            return found
        config = self._run.config
        lane = Lane(config.world, config.world_options, self._sandbox, self._before_action, self._roles)
        self._own.lane = lane
        self._lanes.append(lane)
        return lane

    def _before_action(self) -> None:
        self._steering.guard()
        self._run.meter.before_action()


class Raised(NamedTuple):
    """Comes back in the place of a value."""

    error: BaseException


class Served:
    """A player that another process calls: what it raises comes back as a value, whatever carries the calls."""

    def __init__(self) -> None:
        self._player = Player()

    def call(self, name: str, *arguments: Any) -> Any:
        """Call a method of the player."""
        try:
            return getattr(self._player, name)(*arguments)
        except JournalFailed as failed:
            return Raised(_sendable(failed.__cause__ or failed))
        except BaseException as error:
            return Raised(_sendable(error))


def _sendable(error: BaseException) -> BaseException:
    """The error with where it was raised, which does not travel by itself; one that cannot be sent, in words."""
    where = f"In a worker process:\n{''.join(traceback.format_exception(error))}"
    try:
        error = pickle.loads(pickle.dumps(error))
    except Exception:
        error = RuntimeError(f"{type(error).__name__}: {error}")
    error.add_note(where)
    return error
