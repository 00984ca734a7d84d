"""Recorded episodes whose sandbox workers are killed at every call of every plan: the same events, the same sessions.

By default the first episodes of most recordings are played, and how a worker dies changes from call to call; with
PLANBOOK_KILLED_WORKERS=all every episode is played once for each way to die.
"""

import os
from collections.abc import Callable, Iterator

import pytest

from planbook.run import Entry
from tests.killing import HOWS, DeadlySandbox, How, Reaper
from tests.planbook.recorded_episodes import EPISODES
from tests.planbook.replayed_episodes import USUAL, Life, MortalJournal, Recorded, recorded

ALL = os.environ.get("PLANBOOK_KILLED_WORKERS") == "all"


@pytest.fixture(scope="module")
def deadly() -> Iterator[DeadlySandbox]:
    with DeadlySandbox(Reaper()) as opened:
        yield opened


def played(episodes: Recorded, deadly: DeadlySandbox, entry: Entry, reaper: Reaper) -> Life:
    """An episode in which workers die as the reaper says."""
    deadly.reaper = reaper
    return episodes.live(deadly, entry, MortalJournal())


def ways() -> list[Callable[[int], How]]:
    """From the number of a call to how its worker dies."""
    if ALL:
        return [lambda number, how=how: how for how in HOWS]  # type: ignore[misc]
    return [lambda number: HOWS[number % len(HOWS)]]


@pytest.mark.parametrize("name", EPISODES if ALL else USUAL)
def test_an_episode_whose_workers_are_killed_at_every_call_is_the_same(deadly: DeadlySandbox, name: str) -> None:
    episodes = recorded(name)
    for entry in episodes.entries[: None if ALL else 1]:
        undisturbed = Reaper()
        expected = played(episodes, deadly, entry, undisturbed)
        dead = 0
        for way in ways():
            reaper = Reaper(way)
            life = played(episodes, deadly, entry, reaper)
            assert life.events == expected.events
            assert life == expected
            assert reaper.carried == undisturbed.carried
            assert reaper.left == undisturbed.left
            dead += reaper.dead
        assert dead or not undisturbed.carried, "some plans end before they can be killed in one way, none in all"
