"""A host that dies at every event of recorded episodes: resumed, they are the same, and nothing is paid for twice.

What is promised: a reply that is in the journal is never asked for again. A reply that was on its way, or had come and
was not written yet, is lost with the host, and asked for once more.

By default the hosts of most recordings' first episodes die a few times; with PLANBOOK_KILLED_HOSTS=all every episode of
every recording loses its host at every event; but for the longest, which lose it a few times.
"""

import os
from collections import Counter
from collections.abc import Iterator

import pytest

from planbook.run import Entry
from planbook.sandbox import Sandbox
from tests.planbook.recorded_episodes import EPISODES
from tests.planbook.replayed_episodes import LONG, USUAL, Life, MortalJournal, Recorded, recorded

ALL = os.environ.get("PLANBOOK_KILLED_HOSTS") == "all"
LIVES = 4


def chosen(name: str) -> list[Entry]:
    """The episodes that are played."""
    return recorded(name).entries[: None if ALL else 1]


def lives(episodes: Recorded, sandbox: Sandbox, entry: Entry, every: int) -> Iterator[tuple[Life, bool]]:
    """One host after the other: each lasts for so many new events, and every other one loses the last of them."""
    life, loses = Life([], [], None), False
    while life.ending is None:
        journal = MortalJournal(life.events, lasts=every + loses, loses=loses)
        life = episodes.live(sandbox, entry, journal)
        yield life, loses and life.ending is None
        loses = not loses


@pytest.mark.parametrize("name", EPISODES if ALL else USUAL)
def test_a_host_that_dies_at_any_event_leaves_an_episode_that_goes_on_as_if_it_had_not(
    sandbox: Sandbox, name: str
) -> None:
    episodes = recorded(name)
    for entry in chosen(name):
        undisturbed = episodes.live(sandbox, entry, MortalJournal())
        assert undisturbed.ending is not None
        every = 1 if ALL and name not in LONG else max(len(undisturbed.events) // LIVES, 1)
        paid, lost = Counter[str](), Counter[str]()
        for life, loses in lives(episodes, sandbox, entry, every):
            assert life.events == undisturbed.events[: len(life.events)]
            paid.update(life.paid)
            in_flight = undisturbed.events[len(life.events)][1] == "ask" if loses else False
            lost.update(life.paid[-1:] if in_flight else [])
        assert life.ending == undisturbed.ending
        assert len(life.events) == len(undisturbed.events)
        assert paid == Counter(undisturbed.paid) + lost
