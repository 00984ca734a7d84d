"""`planbook run --resume --again broken`: only broken episodes are played again."""

from contextlib import closing
from pathlib import Path

import pytest

from planbook.planner import Outcome, read_trajectory
from planbook.results import read_run
from planbook.runs import Run, last_scope, recorded_endings
from planbook.watch_server import FollowedRun
from tests.flows import events, invoke, refusal
from tests.planbook.inputs.shifting import play_shifting

AGAIN = ("--again", "broken")


@pytest.fixture
def broken_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of three episodes. The second was broken, for a reason that no longer exists."""
    monkeypatch.setenv("SHIFTING_BROKEN", "look/1")
    folder = play_shifting(tmp_path)
    monkeypatch.delenv("SHIFTING_BROKEN")
    return folder


def test_only_broken_episodes_are_played_again_and_the_last_ending_counts(broken_run: Path) -> None:
    resumed = invoke("run", "--resume", broken_run, *AGAIN)
    assert resumed.returncode == 0
    ended = [event.scope for event in events(broken_run, "outcome")]
    assert ended == ["task/0", "task/1", "task/2", "task/1/restart/1"]
    with closing(Run.open(broken_run)) as run:
        assert {ending.outcome for ending in recorded_endings(run).values()} == {Outcome.DIRECT_SUCCESS}
        read = read_run(run, "run")
        assert [episode.ending.outcome for episode in read.episodes.values()] == [Outcome.DIRECT_SUCCESS] * 3
        assert sorted(read.order) == [0, 1, 2]
        path = last_scope(run, run.entries()[1])
        assert read_trajectory(path, run.store.events(path)).ending.outcome is Outcome.DIRECT_SUCCESS


def test_an_episode_that_breaks_twice_is_played_a_third_time(broken_run: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHIFTING_BROKEN", "look/1")
    assert invoke("run", "--resume", broken_run, *AGAIN).returncode == 1
    monkeypatch.delenv("SHIFTING_BROKEN")
    assert invoke("run", "--resume", broken_run, *AGAIN).returncode == 0
    with closing(Run.open(broken_run)) as run:
        assert last_scope(run, run.entries()[1]) == "task/1/restart/2"


def test_an_interrupted_second_attempt_is_resumed_without_again(broken_run: Path) -> None:
    with closing(Run.open(broken_run, to_play=True)) as run:
        run.begin_invocation(note={"again": ["task/1"]})
        run.end_invocation()
        assert sorted(recorded_endings(run)) == [0, 2]
        assert read_run(run, "run").episodes[1].ending.outcome is Outcome.NOT_RUN
    assert invoke("run", "--resume", broken_run).returncode == 0
    with closing(Run.open(broken_run)) as run:
        assert sorted(recorded_endings(run)) == [0, 1, 2]


def test_a_watched_run_shows_the_last_ending_of_a_repeated_episode_once(broken_run: Path) -> None:
    with closing(FollowedRun(broken_run)) as following:
        following.catch_up()
        version = following.version
        assert following.results.order == [0, 1, 2]
        with closing(Run.open(broken_run, to_play=True)) as run:
            run.begin_invocation(note={"again": ["task/1"]})
            run.end_invocation()
        following.catch_up()
        assert following.results.order == [0, 2]
        assert following.changed[1] > version
        assert invoke("run", "--resume", broken_run).returncode == 0
        following.catch_up()
        assert following.results.order == [0, 2, 1]
        assert following.results.episodes[1].ending.outcome is Outcome.DIRECT_SUCCESS


def test_again_is_refused_without_a_run() -> None:
    assert "--again" in refusal("run", "--env", "toy", *AGAIN)
