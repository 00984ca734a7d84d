"""Several processes use one store: no event is lost, and no episode is played twice."""

import multiprocessing
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from multiprocessing.synchronize import Event as Signal

import pytest

from planbook.errors import BadRun
from planbook.store import LONG_TEXT, Store, StoreLocation

FORK = multiprocessing.get_context("fork")
PUTS = 200


def write(location: StoreLocation, scope: str) -> None:
    store = Store(location)
    for number in range(PUTS):
        store.put(scope, "act", number, {"mine": scope, "page": "<p>" * LONG_TEXT + str(number % 10)})
    store.close()


def test_processes_that_write_at_the_same_time_lose_no_event(location: StoreLocation) -> None:
    writers = [FORK.Process(target=write, args=(location, f"task/{number}")) for number in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    with closing(Store(location, to_write=False)) as store:
        for number in range(3):
            found = list(store.events(f"task/{number}"))
            assert [event.n for event in found] == list(range(PUTS))
            assert {event.body["mine"] for event in found} == {f"task/{number}"}


def test_an_event_is_never_overwritten(location: StoreLocation, store: Store) -> None:
    store.put("task/0", "act", 0, {"by": "one"})
    with closing(Store(location)) as other:
        with pytest.raises(BadRun, match="written twice"):
            other.put("task/0", "act", 0, {"by": "other"})
        other.put("task/0", "act", 1, {"by": "other"})
    assert [event.body["by"] for event in store.events()] == ["one", "other"]


@contextmanager
def hold_when_free(store: Store, index: int) -> Iterator[None]:
    """Wait until an episode is free, and lock it."""
    while True:
        with store.lock(index) as held:
            if held:
                yield
                return
        time.sleep(0.02)


def hold(location: StoreLocation, index: int, held: Signal) -> None:
    store = Store(location)
    with store.lock(index):
        held.set()
        signal.pause()


def test_an_episode_is_free_when_its_process_dies(location: StoreLocation) -> None:
    held, waiting = FORK.Event(), threading.Event()
    holder = FORK.Process(target=hold, args=(location, 7, held))
    holder.start()
    assert held.wait(30)
    store = Store(location)
    seen: list[str] = []

    def wait() -> None:
        waiting.set()
        with hold_when_free(store, 7):
            seen.append("held")

    waiter = threading.Thread(target=wait)
    waiter.start()
    with store.lock(8) as other:
        assert other
        waiting.wait()
        time.sleep(0.3)
        assert seen == []
    holder.kill()
    waiter.join(30)
    assert seen == ["held"]
    holder.join()
    store.close()


def test_closing_another_store_frees_no_episode(location: StoreLocation) -> None:
    """A POSIX lock would be lost as soon as any part of the process closes the file."""
    store = Store(location)
    with store.lock(3):
        Store(location).close()
        with store.lock(4):
            store.put("task/4", "act", 0, {})
        got, other = threading.Event(), Store(location)

        def wait() -> None:
            with hold_when_free(other, 3):
                got.set()

        waiter = threading.Thread(target=wait)
        waiter.start()
        assert not got.wait(0.3)
    assert got.wait(30)
    waiter.join()
    other.close()
    store.close()


def test_a_lease_counts_lost_workers(store: Store) -> None:
    def take(episode: int, worker: str) -> int:
        if store.leases.take(episode, worker):
            return 0
        lost = store.leases.losses(episode)
        store.leases.take_over(episode, worker, lost)
        return lost

    assert [take(0, "a/1") for _ in range(4)] == [0, 1, 2, 3]
    assert take(1, "b/2") == 0
    assert sorted(store.leases.workers()) == ["a/1", "b/2"]
    store.leases.give_back(0)
    assert take(0, "a/1") == 0, "a worker that gives a lease back is not lost"
    store.leases.clear()
    assert store.leases.workers() == []
    assert store.leases.losses(0) == 0, "the process that resumes the run has deleted the lease"
