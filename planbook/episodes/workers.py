"""The driving end of a run in several processes: workers that play its episodes, replaced where they are lost."""

import dataclasses
import logging
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Generic, NamedTuple, Protocol, TypeVar

from planbook.episodes.lanes import Hand
from planbook.episodes.regular import every
from planbook.episodes.steering import Steering
from planbook.episodes.worker_player import Orders, Raised, Steer
from planbook.errors import ClusterLost
from planbook.planner import EpisodeStopped, Spent
from planbook.run import Entry, Run
from planbook.sandbox import WorkerFailed
from planbook.spending import prices_from, spent_so_far

TICK_SECONDS = 0.2
"""How often the workers settle what was spent, and learn whether to go on."""
LOG = logging.getLogger(__name__)
PATIENCE = 3
"""How many workers in a row an episode may lose that it gets no further with; the last one plays nothing else."""
Result = TypeVar("Result")


class WorkerLost(Exception):
    """The worker's process is gone, or cannot be reached."""


class Worker(ABC):
    """A process that plays episodes; threads may call it side by side."""

    @abstractmethod
    def call(self, name: str, *arguments: Any) -> Any:
        """Call a method of the worker's player. Raises WorkerLost."""

    @abstractmethod
    def kill(self) -> None:
        """End the process, if it is still there."""

    def dismiss(self) -> None:
        """Let a worker go that has nothing open any more."""
        self.kill()

    def ask(self, name: str, *arguments: Any) -> Any:
        """What the player's method returns. Raises what it raises, and WorkerLost."""
        answer = self.call(name, *arguments)
        if isinstance(answer, Raised):
            raise answer.error
        return answer


class Start(Protocol):
    """Starts a worker that so many threads will call; a spare one comes beside those that are of use."""

    def __call__(self, threads: int, *, spare: bool) -> Worker:
        """Raises WorkerLost."""


class Places(NamedTuple):
    """Where workers can be had: how many at once are of use, and how to start one.

    ``machines`` is how many they may come to be on.
    """

    most: int
    start: Start
    machines: int = 1


class Work(NamedTuple, Generic[Result]):
    """What is done with an episode: by a worker, and where no worker survives it, by the driver (told why)."""

    play: Callable[[Worker, Entry], Result]
    give_up: Callable[[Entry, str], Result]


OpenPlaces = Callable[[int], AbstractContextManager[Places]]
"""Told how many workers would be wanted at most."""


class Crew:
    """The workers of one run. Each is started when it is first needed, and again after it was lost."""

    def __init__(self, run: Run, orders: Orders, places: Places, jobs: int, threads: int, steering: Steering) -> None:
        self._run, self._orders, self._start, self._steering = run, orders, places.start, steering
        self._jobs, self._threads, self._count = jobs, threads, -(-jobs // threads)
        self._workers: dict[int, Worker] = {}
        self._locks = [threading.Lock() for _ in range(self._count + 1)]
        self._alone, self._settling = threading.Lock(), threading.Lock()
        self.lost = 0

    def seats(self, work: Work[Result]) -> list[Hand[Result]]:
        """As many as there are episodes side by side."""

        @contextmanager
        def seat(place: int) -> Iterator[Callable[[Entry], Result]]:
            yield lambda entry: self._play(place, entry, work)

        return [seat(number % self._count) for number in range(self._jobs)]

    def _play(self, usual: int, entry: Entry, work: Work[Result]) -> Result:
        """Play with a worker and, where it is lost, with another; the last time with one that does nothing else.

        Else every episode would be blamed that the same worker was playing. One that has got further since its last
        worker was lost is not to blame for that: what ends a worker by itself does so at the same place again.
        """
        error: Exception = WorkerLost()
        lost_in_a_row, furthest = 0, 0
        while lost_in_a_row < PATIENCE:
            place = self._count if lost_in_a_row == PATIENCE - 1 else usual
            with self._alone if place == self._count else nullcontext():
                worker = self._worker(place)
                try:
                    return work.play(worker, entry)
                except (WorkerLost, WorkerFailed) as lost:
                    error = lost
                    self._lose(place, worker)
            recorded = sum(1 for _ in self._run.store.events(entry.path))
            lost_in_a_row = 1 if recorded > furthest else lost_in_a_row + 1
            furthest = max(furthest, recorded)
        if isinstance(error, WorkerFailed):
            raise error
        return work.give_up(entry, f"{PATIENCE} worker processes in a row ended while they played this episode")

    def _worker(self, place: int) -> Worker:
        """The worker of a place. Raises WorkerFailed if it cannot be started."""
        with self._locks[place]:
            if self._steering.stopped:
                raise EpisodeStopped
            if place not in self._workers:
                self._workers[place] = self._started(spare=place == self._count)
            return self._workers[place]

    def _started(self, *, spare: bool) -> Worker:
        """A new worker; one that ends before it has begun may have been killed, so that another is tried."""
        try:
            return self._begun(spare=spare)
        except WorkerLost:
            LOG.warning("A worker process ended before it could begin; another is started.")
        try:
            return self._begun(spare=spare)
        except WorkerLost as error:
            raise WorkerFailed("two worker processes ended before they could begin; is there enough memory?") from error

    def _begun(self, *, spare: bool) -> Worker:
        worker = self._start(self._threads, spare=spare)
        try:
            worker.ask("begin", dataclasses.replace(self._orders, spent=self._run.meter.spent))
        except BaseException:
            worker.kill()
            raise
        return worker

    def _lose(self, place: int, worker: Worker) -> None:
        with self._locks[place]:
            if self._workers.get(place) is not worker:
                return  # another of its episodes has told already
            del self._workers[place]
            self.lost += 1
        LOG.warning("A worker process was lost; its episodes go on in another.")
        worker.kill()
        with self._settling:
            self._recount()

    def _recount(self) -> None:
        """What a lost worker had spent is in the store, as all else is."""
        store, prices = self._run.store, prices_from(self._orders.prices)
        self._run.meter.recount(spent_so_far(store.events(), prices))

    @contextmanager
    def ticking(self) -> Iterator[None]:
        """Settle with the workers now and then; at the end settle for good, and end them."""
        try:
            with every(TICK_SECONDS, self._settle):
                yield
        finally:
            self._settle()
            self._end()

    def _settle(self) -> None:
        steer: Steer = "stop" if self._steering.stopped else "pause" if self._steering.paused else "go on"
        for worker in [*self._workers.values()]:
            with self._settling:
                try:
                    spent: Spent = worker.ask("tick", self._run.meter.spent, steer)
                except (WorkerLost, ClusterLost):
                    continue  # whoever plays there will find out
                self._run.meter.take(spent)

    def _end(self) -> None:
        for worker in self._workers.values():
            try:
                worker.ask("end")
            except (WorkerLost, ClusterLost):
                self.lost += 1
            worker.dismiss()
        if self.lost:
            self._recount()
