"""Recorded episodes whose sandbox workers or hosts are killed have the same events, and no reply is paid for twice.

The sandbox worker is killed at every call of every plan, at moments that change from call to call. The host is killed a
few times. It never asks again for a reply that is in the journal, and asks again for a reply that was lost with it.

By default the first episode of most recordings is played. With PLANBOOK_KILLED_WORKERS=all every episode of all
recordings is played once for each moment; with PLANBOOK_KILLED_HOSTS=all their hosts are killed at every event, except
in the longest.
"""

import os
from collections import Counter
from collections.abc import Callable, Iterator

import pytest

from planbook.runs import EpisodeEntry
from planbook.sandbox import Sandbox
from tests.killing import KILL_MOMENTS, DeadlySandbox, KillMoment, Reaper
from tests.planbook.recorded_episodes import EPISODES
from tests.planbook.replayed_episodes import DEFAULT, LONG, Life, MortalJournal, RecordedEpisodes, load_recording

PLAYS_ALL = {
    "sandbox worker": os.environ.get("PLANBOOK_KILLED_WORKERS") == "all",
    "host": os.environ.get("PLANBOOK_KILLED_HOSTS") == "all",
}
LIVES = 4
"""Approximate number of hosts that play an episode one after the other."""
QUICK = ("adapt-shopping-stepwise", "lats-textcraft", "react-shopping")
"""Recordings of different families that take little time."""
QUICK_HOSTS = (*QUICK, "devils-advocate-alfworld", "deps-tabletop")


def rows() -> Iterator[object]:
    for victim in PLAYS_ALL:
        for name in EPISODES if PLAYS_ALL[victim] else DEFAULT:
            quick = QUICK_HOSTS if victim == "host" else QUICK
            yield pytest.param(victim, name, marks=[pytest.mark.deep] * (name not in quick))


@pytest.fixture(scope="module")
def deadly() -> Iterator[DeadlySandbox]:
    with DeadlySandbox(Reaper()) as opened:
        yield opened


@pytest.mark.parametrize(("victim", "name"), list(rows()))
def test_an_episode_is_the_same_if_its_sandbox_worker_or_host_is_killed(
    deadly: DeadlySandbox, sandbox: Sandbox, victim: str, name: str
) -> None:
    episodes = load_recording(name)
    for entry in episodes.entries[: None if PLAYS_ALL[victim] else 1]:
        if victim == "host":
            check_hosts(episodes, sandbox, entry, every_event=PLAYS_ALL[victim] and name not in LONG)
        else:
            check_sandbox_workers(episodes, deadly, entry)


def check_sandbox_workers(episodes: RecordedEpisodes, deadly: DeadlySandbox, entry: EpisodeEntry) -> None:
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


def played(episodes: RecordedEpisodes, deadly: DeadlySandbox, entry: EpisodeEntry, reaper: Reaper) -> Life:
    deadly.reaper = reaper
    return episodes.play_episode(deadly, entry, MortalJournal())


def moments() -> list[Callable[[int], KillMoment]]:
    """Return functions that map the number of a call to the moment at which its worker is killed."""
    if PLAYS_ALL["sandbox worker"]:
        return [lambda number, kill_moment=kill_moment: kill_moment for kill_moment in KILL_MOMENTS]  # type: ignore[misc]
    return [lambda number: KILL_MOMENTS[number % len(KILL_MOMENTS)]]


def check_hosts(episodes: RecordedEpisodes, sandbox: Sandbox, entry: EpisodeEntry, *, every_event: bool) -> None:
    """Kill the host at every event, or a few times."""
    undisturbed = episodes.play_episode(sandbox, entry, MortalJournal())
    assert undisturbed.ending is not None
    interval = 1 if every_event else max(len(undisturbed.events) // LIVES, 1)
    paid, lost = Counter[str](), Counter[str]()
    for life, loses_last in lives(episodes, sandbox, entry, interval):
        assert life.events == undisturbed.events[: len(life.events)]
        paid.update(life.paid)
        in_flight = undisturbed.events[len(life.events)][1] == "ask" if loses_last else False
        lost.update(life.paid[-1:] if in_flight else [])
    assert life.ending == undisturbed.ending
    assert len(life.events) == len(undisturbed.events)
    assert paid == Counter(undisturbed.paid) + lost


def lives(
    episodes: RecordedEpisodes, sandbox: Sandbox, entry: EpisodeEntry, interval: int
) -> Iterator[tuple[Life, bool]]:
    """Yield what each host did, and whether its last event was lost. A host dies after ``interval`` new events."""
    life, loses_last = Life([], [], None), False
    while life.ending is None:
        journal = MortalJournal(life.events, event_limit=interval + loses_last, loses_last=loses_last)
        life = episodes.play_episode(sandbox, entry, journal)
        yield life, loses_last and life.ending is None
        loses_last = not loses_last
