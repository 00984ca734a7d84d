"""`planbook show`: one episode in the terminal, whatever the method."""

import json
import re
from contextlib import closing
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from planbook.cli import planbook
from planbook.errors import BadArgument
from planbook.planner import Body, Outcome, Trajectory
from planbook.report.episodes import episode_document
from planbook.results.table import read_run
from planbook.runs import Run
from planbook.store import started_over
from tests.command import planbook as in_a_process
from tests.flows import BUILD
from tests.reported import asking_run, many_endings, written
from tests.searching import graph, played, search

STEPWISE = ("--planner-option", "iterations=3", "--planner-option", "actions_per_reply=1")
UNSEEN = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")


def show(folder: Path, *arguments: object) -> str:
    return _shown(folder, *arguments).output


def _shown(folder: Path, *arguments: object) -> Result:
    return CliRunner().invoke(planbook, ["show", str(folder), *map(str, arguments)], catch_exceptions=False)


@pytest.fixture(scope="module")
def asking(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("asking") / "run", lambda folder: asking_run(folder, seeds=3))


@pytest.fixture(scope="module")
def adapt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("adapt") / "run"
    chosen = ("--planner", "adapt", "--env", "textcraft", "--task", "test/123", "--task", "test/11", *STEPWISE)
    finished = in_a_process("run", *chosen, "--model", "recorded:adapt-textcraft-stepwise", "--out", folder)
    assert finished.returncode == 0, finished.stderr
    return folder


def test_the_head_says_what_was_to_be_done_what_came_of_it_and_what_it_cost(asking: Path) -> None:
    head = show(asking, 0).splitlines()[:5]
    assert head[0] == "fetch/0  episode 0"
    assert head[1].startswith("put the ")
    assert head[2] == "type fetch, split all, seed 0"
    assert head[3].startswith("indirect success after ")
    assert re.match(r"\d+ model calls: [\d,]+ prompt and [\d,]+ completion tokens, ", head[4])


def test_steps_stand_below_the_code_as_they_happened_with_their_lines(asking: Path) -> None:
    printed = show(asking, 0)
    assert re.search(r"1 seen = agent.open\('box_1'\)", printed)
    assert re.search(r"line 1 1\. agent\.open\('box_1'\) -> You open box_1", printed)
    assert "AssertionError: not there" in printed


def test_the_procedure_is_shown_with_its_helpers(tmp_path: Path) -> None:
    in_a_process("run", "--env", "toy", "--seeds", "0", "--out", tmp_path / "run")
    printed = show(tmp_path / "run", "fetch_two/0")
    assert "  procedure: fetch_two.py: Put two things on the table." in printed
    assert "raise AssertionError(f" in printed
    numbers = [int(found) for found in re.findall(r"^line \d+ +(\d+)\. agent", printed, re.MULTILINE)]
    assert numbers == list(range(1, 20))


def test_knowledge_is_shown_without_the_marks_of_its_blocks(tmp_path: Path) -> None:
    in_a_process(*BUILD, "--task", "fetch/0", "--task", "fetch/1", "--out", tmp_path / "run")
    with closing(Run.open(tmp_path / "run")) as run:
        read = read_run(run)
        document = json.dumps(episode_document(read, read.episodes[1]))
    printed = show(tmp_path / "run", 1)
    assert "knowledge: # What is known of this environment" in printed
    assert "# Code of an earlier task" in document
    assert not [found for found in (printed, document) if "x02" in found or "u0002" in found]


def test_nothing_that_was_said_steers_the_terminal(asking: Path) -> None:
    for episode in range(3):
        assert not UNSEEN.search(show(asking, episode, "--prompts"))
    assert "\\x1b[31m red" in show(asking, 1, "--prompts") + show(asking, 2, "--prompts")


def test_show_prints_prompts_on_request_and_repeated_ones_as_lengths(asking: Path) -> None:
    short, whole = show(asking, 0), show(asking, 0, "--prompts")
    assert "planner was asked automanual/task.j2" in short
    assert "reply: " not in short
    assert "reply: ### Understanding" in whole
    assert re.search(r"as before, [\d,]+ characters", whole)


def test_an_episode_is_named_by_its_task_or_by_how_it_ended(asking: Path, tmp_path: Path) -> None:
    assert show(asking, "fetch/1").startswith("fetch/1  episode 2")
    outcomes = [Outcome.DIRECT_SUCCESS, Outcome.NOT_RUN, Outcome.FAILURE]
    assert show(written(tmp_path / "run", lambda folder: many_endings(folder, outcomes)), "failed").startswith(
        "fetch/2"
    )


def test_what_cannot_be_shown_is_reported(tmp_path: Path) -> None:
    folder = written(tmp_path / "run", lambda each: many_endings(each, [Outcome.DIRECT_SUCCESS, Outcome.NOT_RUN]))
    for which, message in [
        ("9", "has no episode '9'; give a number from 0 to 1"),
        ("failed", "no episode of .* failed"),
        ("1", "has not begun"),
    ]:
        with pytest.raises(BadArgument, match=message):
            _shown(folder, which)
    with pytest.raises(BadArgument, match="has no round to show"):
        _shown(folder, "0", "--json")


def test_an_episode_that_is_under_way_is_shown_as_far_as_it_is(asking: Path) -> None:
    with closing(Run.open(asking)) as run:
        cut = run.entries()[-2].index
    printed = show(asking, cut)
    assert "has begun but not ended" in printed
    assert "its end is not recorded" in printed
    assert "1. agent.look() -> Still boxes. (not counted)" in printed


def test_an_episode_that_is_played_again_is_shown_as_it_is_now(tmp_path: Path) -> None:
    with closing(many_endings(tmp_path / "run", [Outcome.BROKEN])) as run:
        entry = run.entries()[0]
        begun: Body = {"task": entry.task.model_dump(mode="json"), "observation": {"text": "The second attempt."}}
        run.store.put(f"{started_over(entry.path, 1)}/round/0", "task", 0, begun)
    assert "The second attempt." in show(tmp_path / "run", 0)


def test_json_is_the_trajectory(adapt: Path) -> None:
    trajectory = Trajectory.model_validate_json(show(adapt, "test/11", "--json"))
    assert trajectory.run.planner == trajectory.run.config["planner"] == "adapt"
    assert trajectory.ending.outcome is Outcome.DIRECT_SUCCESS
    assert len(trajectory.rounds[0].steps) == 7
    assert json.loads(show(adapt, 0, "--json"))["task"]["id"] == "test/123"


def test_sub_tasks_stand_below_what_they_are_a_part_of(adapt: Path) -> None:
    lines = show(adapt, "test/11").splitlines()
    depth = {
        line.strip().removeprefix("subtask ").rpartition(":")[0]: len(line) - len(line.lstrip())
        for line in lines
        if line.lstrip().startswith("subtask ") and ":" in line
    }
    assert depth["craft gray terracotta (executor)"] < depth["fetch 1 gray dye (planner)"]
    assert depth["fetch 1 gray dye (planner)"] < depth["fetch 1 black dye (crafted from 1 ink sac) (executor)"]
    assert any(line.strip() == "subtask fetch 1 gray dye (planner): done" for line in lines)
    assert any(line.strip() == "subtask fetch 1 gray dye (executor): failed" for line in lines)


def test_branches_that_were_left_are_marked_and_their_steps_too(tmp_path: Path) -> None:
    folder = written(tmp_path / "run", lambda each: played(each, "searching", search))
    printed = show(folder, 0)
    assert re.search(r"^ +branch \d.*: (turned back|abandoned|failed)$", printed, re.MULTILINE)
    assert re.search(r"^ +branch \d.*: (kept|over)$", printed, re.MULTILINE)
    assert re.search(r"^ +branch \d.*: not tried$", printed, re.MULTILINE)
    assert re.search(r"Rewound to where \d+ actions? of the round", printed)
    assert "undone" in printed


def test_the_nodes_of_a_graph_are_reported_with_their_answers(tmp_path: Path) -> None:
    folder = written(tmp_path / "run", lambda each: played(each, "graphing", graph))
    printed = show(folder, 0)
    assert re.search(r"^ *node observe$\n +answer: Box 0 is closed", printed, re.MULTILINE)
    assert "node plan: skipped" in printed


def test_no_line_is_wider_than_the_terminal(adapt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("planbook.console.PLAIN_WIDTH", 60)
    assert max(map(len, show(adapt, "test/11").splitlines())) <= 60
