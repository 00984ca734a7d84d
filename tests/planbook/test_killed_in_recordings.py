"""Recorded episodes whose sandbox workers or hosts are killed have the same events, and no reply is paid for twice.

A sandbox worker is killed at every call of every plan, at moments that change from call to call. A host is killed a
few times: it never asks again for a reply that is in the journal, and asks once more for one that was lost with it.

By default the first episodes of most recordings are played. With PLANBOOK_KILLED_WORKERS=all every episode of all
recordings is played once for each moment; with PLANBOOK_KILLED_HOSTS=all their hosts are killed at every event, except
in the longest.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from planbook.runs import Entry
from planbook.sandbox import Sandbox
from tests.killing import KILL_MOMENTS, DeadlySandbox, KillMoment, Reaper
from tests.planbook.recorded_episodes import EPISODES
from tests.planbook.replayed_episodes import LONG, USUAL, Life, MortalJournal, Recorded, recorded

ALL = {
    "sandbox worker": os.environ.get("PLANBOOK_KILLED_WORKERS") == "all",
    "host": os.environ.get("PLANBOOK_KILLED_HOSTS") == "all",
}
LIVES = 4
"""Number of lives of a host in an episode, about."""
QUICK = ("adapt-shopping-stepwise", "lats-textcraft", "react-shopping")
"""Recordings of different families that take little time."""
QUICK_HOSTS = (*QUICK, "devils-advocate-alfworld", "deps-tabletop")


def rows() -> Iterator[object]:
    for victim in ALL:
        for name in EPISODES if ALL[victim] else USUAL:
            quick = QUICK_HOSTS if victim == "host" else QUICK
            yield pytest.param(victim, name, marks=[pytest.mark.deep] * (name not in quick))


@pytest.fixture(scope="module")
def deadly() -> Iterator[DeadlySandbox]:
    with DeadlySandbox(Reaper()) as opened:
        yield opened


@pytest.mark.parametrize(("victim", "name"), list(rows()))
def test_an_episode_is_the_same_although_its_victim_is_killed(
    deadly: DeadlySandbox, sandbox: Sandbox, victim: str, name: str
) -> None:
    episodes = recorded(name)
    for entry in episodes.entries[: None if ALL[victim] else 1]:
        if victim == "host":
            check_hosts(episodes, sandbox, entry, every_event=ALL[victim] and name not in LONG)
        else:
            check_sandbox_workers(episodes, deadly, entry)


def check_sandbox_workers(episodes: Recorded, deadly: DeadlySandbox, entry: Entry) -> None:
    """Kill the sandbox worker at every call."""
    undisturbed = Reaper()
    expected = played(episodes, deadly, entry, undisturbed)
    dead = 0
    for moment in moments():
        reaper = Reaper(moment)
        life = played(episodes, deadly, entry, reaper)
        assert life.events == expected.events
        assert life == expected
        assert reaper.completed_calls == undisturbed.completed_calls
        assert reaper.final_states == undisturbed.final_states
        dead += reaper.kill_count
    assert dead or not undisturbed.completed_calls, "some plans are too short for some moments, but not for all"


def played(episodes: Recorded, deadly: DeadlySandbox, entry: Entry, reaper: Reaper) -> Life:
    deadly.reaper = reaper
    return episodes.live(deadly, entry, MortalJournal())


def moments() -> list[Callable[[int], KillMoment]]:
    """Return functions from the number of a call to how its worker dies."""
    if ALL["sandbox worker"]:
        return [lambda number, how=how: how for how in KILL_MOMENTS]  # type: ignore[misc]
    return [lambda number: KILL_MOMENTS[number % len(KILL_MOMENTS)]]


def check_hosts(episodes: Recorded, sandbox: Sandbox, entry: Entry, *, every_event: bool) -> None:
    """Kill the host at every event, or a few times."""
    undisturbed = episodes.live(sandbox, entry, MortalJournal())
    assert undisturbed.ending is not None
    every = 1 if every_event else max(len(undisturbed.events) // LIVES, 1)
    paid, lost = Counter[str](), Counter[str]()
    for life, loses in lives(episodes, sandbox, entry, every):
        assert life.events == undisturbed.events[: len(life.events)]
        paid.update(life.paid)
        in_flight = undisturbed.events[len(life.events)][1] == "ask" if loses else False
        lost.update(life.paid[-1:] if in_flight else [])
    assert life.ending == undisturbed.ending
    assert len(life.events) == len(undisturbed.events)
    assert paid == Counter(undisturbed.paid) + lost


def lives(episodes: Recorded, sandbox: Sandbox, entry: Entry, every: int) -> Iterator[tuple[Life, bool]]:
    """Yield hosts that last for ``every`` new events, and whether they lose the last: every other host does."""
    life, loses = Life([], [], None), False
    while life.ending is None:
        journal = MortalJournal(life.events, lasts=every + loses, loses=loses)
        life = episodes.live(sandbox, entry, journal)
        yield life, loses and life.ending is None
        loses = not loses
