"""Marks and rewinds: only a moment that still lies behind the present one can be gone back to."""

from collections.abc import Iterator

import pytest

from planbook.envs import Observation, Selection
from planbook.envs.toy import Toy
from planbook.planner import Episode, EpisodeSettings, MemoryJournal
from planbook.planner.errors import WrongMark
from planbook.sandbox import Sandbox


@pytest.fixture
def episode(sandbox: Sandbox) -> Iterator[Episode]:
    task = Toy.tasks(Selection(ids=("fetch/0",)))[0]
    played = Episode(task, Toy(), sandbox, MemoryJournal(), settings=EpisodeSettings(actions=30))
    played.begin()
    yield played
    played.close()


def test_a_mark_can_be_gone_back_to_again(episode: Episode) -> None:
    mark = episode.mark()
    for box in ("box_1", "box_2"):
        episode.run(f"seen = agent.open({box!r})")
        episode.rewind(mark)
        assert episode.environment.history == []
    assert [step.undone for step in episode.steps] == [True, True]


def test_a_mark_that_was_undone_cannot_be_gone_back_to(episode: Episode) -> None:
    """Its environment and its namespace would belong to two different pasts."""
    first = episode.mark()
    episode.run("seen = agent.open('box_1')")
    second = episode.mark()
    episode.rewind(first)
    episode.run("seen = agent.open('box_2')")
    with pytest.raises(WrongMark, match="undone by an earlier rewind"):
        episode.rewind(second)
    assert [str(action) for action, _ in episode.environment.history] == ["open('box_2')"]
    assert episode.run("print(seen[:14])").output == "You open box_2\n"


def test_feedback_tells_an_observation_by_the_one_before_that_still_stands(sandbox: Sandbox) -> None:
    class Brief(Toy):
        def brief(self, observation: Observation, before: Observation) -> str:
            return f"after {before.text[:14]!r}"

    task = Toy.tasks(Selection(ids=("fetch/0",)))[0]
    played = Episode(task, Brief(), sandbox, MemoryJournal(), settings=EpisodeSettings(actions=30))
    played.begin()
    played.run("agent.open('box_1')")
    mark = played.mark()
    played.run("agent.open('box_2')")
    played.rewind(mark)
    assert "after 'You open box_1'" in played.run("agent.open('box_3')").text
    played.close()
