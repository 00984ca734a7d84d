"""Earlier episodes are described as text for the Consolidator, the role that merges and deletes rules."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from planbook.config import Config
from planbook.envs import Selection
from planbook.learning.learner import describe_episodes
from planbook.planner import Ending, NoMemory, Outcome
from planbook.runs import DIVERGED, Run
from planbook.workers import play_episodes

CONFIG = Config(
    planner="code",
    planner_options={"code": "print(agent.open('box_1'))"},
    env="toy",
    actions=9,
    selection=Selection(ids=("fetch/0", "fetch/1")),
)


@pytest.fixture
def run(tmp_path: Path) -> Iterator[Run]:
    """A run of two episodes; the first diverged from its record and was restarted."""
    opened = Run.create(tmp_path / "run", CONFIG, CONFIG.environment.tasks(CONFIG.selection))
    diverged = Ending(outcome=Outcome.BROKEN, cause=DIVERGED)
    opened.store.put("task/0", "outcome", 0, diverged.model_dump(mode="json"))
    opened.begin_invocation()
    assert play_episodes(opened, NoMemory(), lambda entry, ending: None)
    yield opened
    opened.close()


def test_episodes_are_described_in_the_order_of_the_request(run: Run) -> None:
    text = describe_episodes(run, ["task/1", "task/0"])
    assert text.index("# The episode task/1") < text.index("# The episode task/0")
    assert text.count("You open box_1") >= 2


def test_a_restarted_episode_is_found_under_both_names(run: Run) -> None:
    again, plain = (describe_episodes(run, [id]) for id in ("task/0/restart/1", "task/0"))
    assert again.splitlines()[0] == "# The episode task/0/restart/1"
    assert again.splitlines()[1:] == plain.splitlines()[1:]
