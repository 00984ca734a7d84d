"""A mark is a checkpoint of an episode. It can be restored by a rewind unless an earlier rewind has undone it."""

from collections.abc import Iterator

import pytest

from planbook.envs import Observation
from planbook.envs.toy import Toy
from planbook.planner import Episode, FeedbackKind
from planbook.planner.errors import WrongMark
from planbook.sandbox import Sandbox
from tests.planner.episode_kit import started


class BriefToy(Toy):
    """An environment whose brief observations name the previous one."""

    def brief(self, observation: Observation, before: Observation) -> str:
        return f"after {before.text[:14]!r}"


@pytest.fixture
def episode(sandbox: Sandbox) -> Iterator[Episode]:
    with started(sandbox, environment=BriefToy()) as playing:
        yield playing


def test_a_rewind_restores_environment_and_namespace_but_not_the_count(episode: Episode) -> None:
    episode.run("opened = [agent.open('box_1')]")
    mark, state = episode.mark(), episode.environment.state()
    for code in ("opened.append(agent.open('box_2'))\nextra = 1", "agent.open('box_4')"):
        episode.run(code)
        episode.rewind(mark)
        assert episode.environment.state() == state
        assert [str(action) for action, _ in episode.environment.history] == ["open('box_1')"]
    assert [step.undone for step in episode.steps] == [False, True, True]
    assert episode.actions == 3
    assert episode.run("print(len(opened))").output == "1\n"
    assert episode.run("print(extra)").kind is FeedbackKind.CHECK
    assert "after 'You open box_1'" in episode.run("agent.open('box_3')").text, "feedback ignores undone steps"


def test_an_undone_mark_is_refused(episode: Episode) -> None:
    """Otherwise the environment and the namespace would have different histories."""
    first = episode.mark()
    episode.run("seen = agent.open('box_1')")
    second = episode.mark()
    episode.rewind(first)
    episode.run("seen = agent.open('box_2')")
    with pytest.raises(WrongMark, match="removed by an earlier rewind"):
        episode.rewind(second)
    assert [str(action) for action, _ in episode.environment.history] == ["open('box_2')"]
    assert episode.run("print(seen[:14])").output == "You open box_2\n"


def test_a_mark_of_another_frame_is_refused(episode: Episode) -> None:
    mark = episode.mark()
    with episode.frame("other"), pytest.raises(WrongMark, match="belongs to frame"):
        episode.rewind(mark)
