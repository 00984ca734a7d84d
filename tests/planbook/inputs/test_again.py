"""Playing BROKEN episodes again: only those, and every reader sees their last ending."""

from contextlib import closing
from pathlib import Path

import pytest

from planbook.errors import BadArgument
from planbook.planner import Outcome, read_trajectory
from planbook.results.table import read_run
from planbook.runs import Run, last_path, recorded_endings
from tests.planbook.inputs.commands import play_shifting, run


@pytest.fixture
def broken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of three episodes, the second of which is BROKEN for a reason that is mended then."""
    monkeypatch.setenv("SHIFTING_BROKEN", "look/1")
    code, folder = play_shifting(tmp_path)
    assert code == 1
    monkeypatch.delenv("SHIFTING_BROKEN")
    return folder


def test_only_what_was_broken_is_played_again(broken: Path, capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert run("run", "--resume", broken, "--again", "broken") == 0
    printed = capsys.readouterr().out
    assert (
        "Played again: look/1, which was broken (EnvironmentBroken: the shelf fell down); now direct success."
        in printed
    )
    with closing(Run.open(broken)) as opened:
        assert [row.scope for row in opened.store.events("task", "outcome")] == [
            "task/0",
            "task/1",
            "task/2",
            "task/1/restart/1",
        ]


def test_every_reader_sees_the_last_ending(broken: Path) -> None:
    run("run", "--resume", broken, "--again", "broken")
    with closing(Run.open(broken)) as opened:
        assert {ending.outcome for ending in recorded_endings(opened).values()} == {Outcome.DIRECT_SUCCESS}
        read = read_run(opened, "run")
        assert [played.ending.outcome for played in read.episodes.values()] == [Outcome.DIRECT_SUCCESS] * 3
        assert sorted(read.order) == [0, 1, 2]
        assert read.summary().solved == 3
        path = last_path(opened, opened.entries()[1])
        assert read_trajectory(path, opened.store.events(path)).ending.outcome is Outcome.DIRECT_SUCCESS


def test_a_task_that_stays_broken_may_be_played_a_third_time(broken: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SHIFTING_BROKEN", "look/1")
    assert run("run", "--resume", broken, "--again", "broken") == 1
    monkeypatch.delenv("SHIFTING_BROKEN")
    assert run("run", "--resume", broken, "--again", "broken") == 0
    with closing(Run.open(broken)) as opened:
        assert last_path(opened, opened.entries()[1]) == "task/1/restart/2"


def test_an_interrupted_second_play_is_resumed(broken: Path) -> None:
    """The endings are set aside for good: a plain resume plays what is left."""
    with closing(Run.open(broken, to_play=True)) as opened:
        opened.begin_invocation(note={"again": ["task/1"]})
        opened.end_invocation()
        assert sorted(recorded_endings(opened)) == [0, 2]
        assert read_run(opened, "run").episodes[1].ending.outcome is Outcome.NOT_RUN
    assert run("run", "--resume", broken) == 0
    with closing(Run.open(broken)) as opened:
        assert sorted(recorded_endings(opened)) == [0, 1, 2]


def test_without_a_run_there_is_nothing_to_play_again() -> None:
    with pytest.raises(BadArgument, match="--again"):
        run("run", "--env", "toy", "--again", "broken")
