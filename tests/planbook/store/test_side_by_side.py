"""Several processes at one store: nobody loses an event, or plays an episode that another one plays."""

import multiprocessing
import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from multiprocessing.synchronize import Event as Signal

import pytest

from planbook.errors import BadRun
from planbook.store import LONG_TEXT, Place, Store

FORK = multiprocessing.get_context("fork")
PUTS = 200


def write(place: Place, scope: str) -> None:
    store = Store(place)
    for number in range(PUTS):
        store.put(scope, "act", number, {"mine": scope, "page": "<p>" * LONG_TEXT + str(number % 10)})
    store.close()


def test_processes_write_side_by_side_and_none_loses_an_event(place: Place) -> None:
    writers = [FORK.Process(target=write, args=(place, f"task/{number}")) for number in range(3)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
    assert [writer.exitcode for writer in writers] == [0, 0, 0]
    store = Store(place, to_write=False)
    for number in range(3):
        found = list(store.events(f"task/{number}"))
        assert [event.n for event in found] == list(range(PUTS))
        assert {event.body["mine"] for event in found} == {f"task/{number}"}
    store.close()


def test_an_event_that_two_processes_write_is_refused(place: Place) -> None:
    one, other = Store(place), Store(place)
    one.put("task/0", "act", 0, {"by": "one"})
    with pytest.raises(BadRun, match="written twice"):
        other.put("task/0", "act", 0, {"by": "other"})
    assert [event.body for event in other.events()] == [{"by": "one"}]
    one.close()
    other.close()


@contextmanager
def waited_for(store: Store, index: int) -> Iterator[None]:
    """Hold an episode as soon as nobody else does."""
    while True:
        with store.hold(index) as held:
            if held:
                yield
                return
        time.sleep(0.02)


def hold(place: Place, index: int, held: Signal) -> None:
    store = Store(place)
    with store.hold(index):
        held.set()
        signal.pause()


def test_an_episode_is_held_until_its_process_dies(place: Place) -> None:
    held, begun = FORK.Event(), threading.Event()
    holder = FORK.Process(target=hold, args=(place, 7, held))
    holder.start()
    assert held.wait(30)
    store = Store(place)
    seen: list[str] = []

    def wait_for_it() -> None:
        begun.set()
        with waited_for(store, 7):
            seen.append("held")

    waiter = threading.Thread(target=wait_for_it)
    waiter.start()
    with store.hold(8) as other:
        assert other
        begun.wait()
        time.sleep(0.3)
        assert seen == []
    holder.kill()
    waiter.join(30)
    assert seen == ["held"]
    holder.join()
    store.close()


def test_what_else_the_process_closes_lets_no_episode_go(place: Place) -> None:
    """Locks of POSIX are gone as soon as the process closes the file anywhere; these are not."""
    store = Store(place)
    with store.hold(3):
        Store(place).close()
        with store.hold(4):
            store.put("task/4", "act", 0, {})
        got, other = threading.Event(), Store(place)

        def wait_for_it() -> None:
            with waited_for(other, 3):
                got.set()

        waiter = threading.Thread(target=wait_for_it)
        waiter.start()
        assert not got.wait(0.3)
    assert got.wait(30)
    waiter.join()
    other.close()
    store.close()


def test_a_lease_counts_the_workers_that_were_lost_until_an_episode_gets_further(store: Store) -> None:

    def take(episode: int, worker: str, events: int) -> int:
        losses = store.leases.losses(episode, lambda: events)
        store.leases.take(episode, worker, losses)
        return losses.lost

    assert [take(0, "a/1", events) for events in (0, 0, 0, 5, 5, 6)] == [0, 1, 2, 1, 2, 1]
    assert take(1, "b/2", 0) == 0
    assert sorted(store.leases.workers()) == ["a/1", "b/2"]
    store.leases.give_back(0)
    assert take(0, "a/1", 6) == 0, "a worker that gives a lease back is not lost"
    store.leases.open()
    assert store.leases.workers() == []
