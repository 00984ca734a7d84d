"""`planbook show`: shows one episode in the terminal, for every method."""

import json
import re
import time
from contextlib import closing
from pathlib import Path

import pytest

from planbook.envs import Task
from planbook.planner import Body, Call, Message, Outcome, Reply, Sampling, Trajectory
from planbook.report.episodes import episode_document
from planbook.results import read_run
from planbook.runs import Run
from planbook.store import restart_scope
from planbook.terminal.episode import episode_pieces
from tests.flows import BUILD, invoke, refusal, succeed
from tests.golden import play
from tests.reported import many_endings, run_with_prompts, write_closed_run
from tests.rows import BROKEN, FAILED, SOLVED

UNPRINTABLE = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e]")


def show(folder: Path, *arguments: object) -> str:
    shown = succeed("show", folder, *arguments)
    return shown.stdout


@pytest.fixture(scope="module")
def run_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_closed_run(tmp_path_factory.mktemp("asking") / "run", run_with_prompts, seeds=3)


@pytest.fixture(scope="module")
def adapt(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("adapt") / "run"
    play("adapt-textcraft-stepwise", folder)
    return folder


def test_the_head_has_task_outcome_and_cost(run_folder: Path) -> None:
    head = show(run_folder, 0).splitlines()[:5]
    assert head[0] == "fetch/0  episode 0"
    assert head[1].startswith("put the ")
    assert head[2] == "type fetch, split all, seed 0"
    assert head[3].startswith("indirect success after ")
    assert re.match(r"\d+ model calls: [\d,]+ prompt and [\d,]+ completion tokens, ", head[4])


def test_steps_are_shown_below_their_code_with_its_lines(run_folder: Path) -> None:
    printed = show(run_folder, 0)
    assert re.search(r"1 seen = agent.open\('box_1'\)", printed)
    assert re.search(r"line 1 1\. agent\.open\('box_1'\) -> You open box_1", printed)
    assert "AssertionError: not there" in printed


def test_a_procedure_is_shown_with_its_helpers(tmp_path: Path) -> None:
    invoke("run", "--env", "toy", "--seeds", "0", "--out", tmp_path / "run")
    printed = show(tmp_path / "run", "fetch_two/0")
    assert "  procedure: fetch_two.py: Put two things on the table." in printed
    assert "raise AssertionError(f" in printed
    numbers = [int(found) for found in re.findall(r"^line \d+ +(\d+)\. agent", printed, re.MULTILINE)]
    assert numbers == list(range(1, 20))


def test_knowledge_is_shown_without_the_marks_between_its_blocks(tmp_path: Path) -> None:
    invoke(*BUILD, "--task", "fetch/0", "--task", "fetch/1", "--out", tmp_path / "run")
    with closing(Run.open(tmp_path / "run")) as run:
        read = read_run(run)
        document = json.dumps(episode_document(read, read.episodes[1]))
    printed = show(tmp_path / "run", 1)
    assert "knowledge: # What is known about this environment" in printed
    assert "# Code of an earlier task" in document
    assert not [found for found in (printed, document) if "x02" in found or "u0002" in found]


def test_no_control_character_reaches_the_terminal(run_folder: Path) -> None:
    printed = "".join(show(run_folder, episode, "--prompts") for episode in range(3))
    assert not UNPRINTABLE.search(printed)
    assert "\\x1b[31m red" in printed


def test_prompts_are_shown_on_request_but_repeated_ones_only_by_their_length(run_folder: Path) -> None:
    short, whole = show(run_folder, 0), show(run_folder, 0, "--prompts")
    assert "planner was asked automanual/task.j2" in short
    assert "reply: " not in short
    assert "reply: ### Understanding" in whole
    assert re.search(r"as before, [\d,]+ characters", whole)


def test_the_prompts_of_a_long_conversation_are_compared_in_little_time() -> None:
    asked = [Message(role="user", content=f"{number}") for number in range(300)]
    facts = {"scope": "round/0", "role": "planner", "template": "plan", "model": "m", "sampling": Sampling()}
    calls = [Call(order=n, **facts, messages=tuple(asked[: n + 1]), reply=Reply(text="ok")) for n in range(300)]
    calls = [Call.model_validate_json(call.model_dump_json()) for call in calls]
    trajectory = Trajectory(task=Task(id="a", type="a", env="toy", goal="", seed=0, split="all"), calls=tuple(calls))
    started = time.process_time()
    assert len(list(episode_pieces(trajectory, prompts=True))) == 300 * 301 // 2 + 600
    assert time.process_time() - started < 3


def test_an_episode_is_named_by_its_task_or_its_failure(run_folder: Path, tmp_path: Path) -> None:
    assert show(run_folder, "fetch/1").startswith("fetch/1  episode 2")
    folder = write_closed_run(tmp_path / "run", many_endings, [SOLVED, Outcome.NOT_RUN, FAILED])
    assert show(folder, "failed").startswith("fetch/2")


def test_episodes_that_cannot_be_shown_are_refused(tmp_path: Path) -> None:
    folder = write_closed_run(tmp_path / "run", many_endings, [SOLVED, Outcome.NOT_RUN])
    assert "has no episode '9'; give a number from 0 to 1" in refusal("show", folder, "9")
    assert re.search("no episode of .* failed", refusal("show", folder, "failed"))
    assert "has not begun" in refusal("show", folder, "1")
    assert "has not begun a round yet" in refusal("show", folder, "0", "--json")


def test_an_unfinished_episode_is_shown_up_to_its_last_event(run_folder: Path) -> None:
    with closing(Run.open(run_folder)) as run:
        cut = run.entries()[-2].index
    printed = show(run_folder, cut)
    assert "has begun but not ended" in printed
    assert "its end is not recorded" in printed
    assert "1. agent.look() -> Still boxes. (not counted)" in printed


def test_the_last_attempt_at_an_episode_is_shown(tmp_path: Path) -> None:
    with closing(many_endings(tmp_path / "run", [BROKEN])) as run:
        entry = run.entries()[0]
        body: Body = {"task": entry.task.model_dump(mode="json"), "observation": {"text": "The second attempt."}}
        run.store.put(f"{restart_scope(entry.path, 1)}/round/0", "task", 0, body)
    assert "The second attempt." in show(tmp_path / "run", 0)


def test_json_is_the_trajectory(adapt: Path) -> None:
    trajectory = Trajectory.model_validate_json(show(adapt, "test/11", "--json"))
    assert trajectory.run.planner == trajectory.run.config["planner"] == "adapt"
    assert trajectory.ending.outcome is SOLVED
    assert len(trajectory.rounds[0].steps) == 7
    assert json.loads(show(adapt, 0, "--json"))["task"]["id"] == "test/123"


def test_subtasks_are_indented_below_their_parents(adapt: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lines = [line for line in show(adapt, "test/11").splitlines() if line.lstrip().startswith("subtask ")]
    indents = {
        line.strip().removeprefix("subtask ").rpartition(":")[0]: len(line) - len(line.lstrip())
        for line in lines
        if ":" in line
    }
    assert indents["craft gray terracotta (executor)"] < indents["fetch 1 gray dye (planner)"]
    assert indents["fetch 1 gray dye (planner)"] < indents["fetch 1 black dye (crafted from 1 ink sac) (executor)"]
    stripped = {line.strip() for line in lines}
    assert {"subtask fetch 1 gray dye (planner): done", "subtask fetch 1 gray dye (executor): failed"} <= stripped
    replies = [line for line in show(adapt, "test/11").splitlines() if line.lstrip().startswith("replies: ")]
    assert len(replies) == sum("(executor)" in line for line in lines), "also where the goal has the same number"
    monkeypatch.setattr("planbook.console.PLAIN_WIDTH", 60)
    assert max(map(len, show(adapt, "test/11").splitlines())) <= 60, "no line is wider than the terminal"


def test_claims_are_shown_with_their_author(adapt: Path) -> None:
    lines = show(adapt, "test/123").splitlines()
    assert {f"claim by the agent with the whole task: {claim}" for claim in ("failed", "none")} <= {*lines}


def test_branches_and_undone_steps_are_marked(tmp_path: Path) -> None:
    play("devils-advocate-minecraft-chances", tmp_path / "run")
    printed = show(tmp_path / "run", 0) + show(tmp_path / "run", 1)
    for status in ("turned back", "kept", "over", "not tried"):
        assert re.search(rf"^ +branch \d.*: {status}$", printed, re.MULTILINE)
    assert re.search(r"Rewound to the state after \d+ actions? of the round", printed)
    assert "undone" in printed


def test_nodes_of_a_graph_are_shown_with_their_answers(tmp_path: Path) -> None:
    play("agentkit-shopping", tmp_path / "run")
    printed = show(tmp_path / "run", 0)
    assert re.search(
        r'^ *node obs \[pass 1, layer 1\]\n +answer: {"products": {}, "elements": \["search', printed, re.MULTILINE
    )
    assert "node task_filter [pass 1, layer 2]: skipped" in printed
