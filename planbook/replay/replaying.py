"""Replay all episodes of a run, in threads or in other processes. Nothing is written."""

import queue
from collections.abc import Callable, Sequence
from contextlib import closing, suppress
from dataclasses import dataclass, replace

from planbook.planner import EpisodeStopped
from planbook.replay.comparing import Comparison, Sameness, replay_episode
from planbook.runs import Entry, Run, recorded_endings
from planbook.store import Store
from planbook.workers import (
    LOST,
    PATIENCE,
    Hosting,
    Job,
    Steering,
    WorkerPool,
    check_reachable,
    in_threads,
    job_of,
    places_opener,
    sendable,
    workers_of,
)

OnComparison = Callable[[Entry, Comparison], None]


def replay_run(run: Run, on_comparison: OnComparison, hosting: Hosting | None = None) -> bool:
    """Play every recorded episode again and compare it. Returns False if Ctrl-C stopped the replay."""
    hosting = hosting or Hosting()
    if hosting.executor == "threads":
        return replay_in_threads(run, run.entries(), hosting.jobs, on_comparison, unsafe=hosting.unsafe_no_sandbox)
    return _replay_in_processes(run, on_comparison, hosting)


def replay_in_threads(
    run: Run, entries: Sequence[Entry], jobs: int, on_comparison: OnComparison, *, unsafe: bool
) -> bool:
    """Play some episodes again in threads of this process."""
    endings, steering = recorded_endings(run), Steering()
    waiting: queue.SimpleQueue[Entry] = queue.SimpleQueue()
    compared: queue.SimpleQueue[tuple[Entry, Comparison]] = queue.SimpleQueue()
    for entry in entries:
        waiting.put(entry)

    def replay_waiting(notify: Callable[[], None]) -> None:
        with open_worker() as worker, suppress(queue.Empty):
            while True:
                if steering.stopped:
                    raise EpisodeStopped
                entry = waiting.get_nowait()
                compared.put((entry, replay_episode(run, entry, worker, endings.get(entry.index))))
                notify()

    def report() -> None:
        while not compared.empty():
            on_comparison(*compared.get())

    if not entries:
        return True
    count = min(jobs if run.config.environment.parallel else 1, len(entries))
    with workers_of(run, unsafe, steering, silent=True) as open_worker:
        return in_threads(count, replay_waiting, steering, report)


@dataclass(frozen=True)
class ReplayShare:
    """Episodes that one worker replays. ``lost`` is the number of workers lost on it."""

    job: Job
    entries: tuple[Entry, ...]
    lost: int = 0

    def halves(self) -> list["ReplayShare"]:
        """Split the share in two, so that an episode that ends its worker is found."""
        middle = len(self.entries) // 2
        return [replace(self, entries=part) for part in (self.entries[:middle], self.entries[middle:])]


Compared = list[tuple[Entry, Comparison]] | BaseException


def replay_share(share: ReplayShare) -> Compared:
    """Replay a share of a run, in the process of a worker. Returns the error that ended it, if one did."""
    job, comparisons = share.job, list[tuple[Entry, Comparison]]()
    try:
        with closing(Store(job.store, to_write=False)) as store:
            run = Run(job.folder, job.file, store)
            replay_in_threads(
                run, share.entries, job.threads, lambda *pair: comparisons.append(pair), unsafe=job.unsafe_no_sandbox
            )
    except BaseException as error:
        return sendable(error)
    return comparisons


def _replay_in_processes(run: Run, on_comparison: OnComparison, hosting: Hosting) -> bool:
    entries = run.entries()
    if not entries:
        return True

    def take(share: ReplayShare, compared: Compared) -> Sequence[ReplayShare]:
        if isinstance(compared, BaseException):
            raise compared
        for entry, comparison in compared:
            on_comparison(entry, comparison)
        return ()

    def lose(share: ReplayShare) -> Sequence[ReplayShare]:
        if len(share.entries) > 1:
            return share.halves()
        if share.lost + 1 < PATIENCE:
            return [replace(share, lost=share.lost + 1)]
        missing = Comparison(sameness=Sameness.NOT_COMPARED, event="the worker", expected="an episode", actual=LOST)
        return take(share, [(share.entries[0], missing)])

    jobs = min(hosting.jobs, len(entries))
    with places_opener(hosting.executor)(jobs) as places:
        check_reachable(run, places)
        workers = min(jobs, places.capacity)
        job = job_of(run, hosting, threads=-(-jobs // workers))
        shares = [ReplayShare(job, tuple(entries[number::workers])) for number in range(workers)]
        return WorkerPool(places, replay_share, shares, take, lose, lambda: None, None).carry_out()
