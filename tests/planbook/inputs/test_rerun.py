"""`planbook replay` and `planbook rerun` report the first difference; `--again broken` plays only broken episodes."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planbook.planner import Outcome, read_trajectory
from planbook.results import read_run
from planbook.runs import Run, last_scope, recorded_endings
from planbook.watch_server import FollowedRun
from tests.command import planbook
from tests.flows import BUILD, command_of, events, invoke, refusal, scripted, succeed, write_scripted_model
from tests.planbook.inputs.shifting import play_broken, play_shifting, read_run_file, rewrite
from tests.shelf import write_shelf

REPLY = "### Understanding\nBoxes.\n### Plan\n1. Look.\n### Code\n```python\nagent.open('box_1')\n```"
REACT = ("--env", "toy", "--planner", "react", "--planner-option", "iterations=1")


def play(command: str, *arguments: object, out: Path) -> None:
    succeed(command, *arguments, "--out", out)


def rerun(first: Path, second: str, *options: object) -> Any:
    """Repeat a run in a folder beside it, and return the result."""
    done = succeed("rerun", first, "--out", first.parent / second, *options, "--json")
    return done.result


def count_same(result: Any) -> int:
    """Return the number of episodes that were the same in both runs."""
    number: int = result["by_sameness"]["same"]
    return number


@pytest.mark.parametrize(
    "selection",
    [
        "--env toy",
        "--env alfworld --split generated:2",
        pytest.param("--env textcraft --split test:3", marks=pytest.mark.deep),
        pytest.param("--env toy --split all:2 --repeats 2", marks=pytest.mark.deep),
    ],
)
def test_a_repeated_run_without_models_has_the_same_episodes(tmp_path: Path, selection: str) -> None:
    play("run", *selection.split(), out=tmp_path / "first")
    for name, options in (("second", ()), ("third", ("--recorded",))):
        found = rerun(tmp_path / "first", name, *options)
        assert count_same(found) == sum(found["by_sameness"].values()) > 0
        assert (found["deterministic"], found["differed"], found["differences"]) == (True, [], {})
        assert read_run_file(tmp_path / name)["rerun_of"] == str(tmp_path / "first")


def test_a_recorded_run_can_be_repeated_from_its_recording_and_from_its_own_events(tmp_path: Path) -> None:
    play(*command_of("adapt-textcraft"), "--model", "recorded:adapt-textcraft", out=tmp_path / "first")
    assert count_same(rerun(tmp_path / "first", "second")) == 6
    found = rerun(tmp_path / "first", "third", "--recorded")
    assert (count_same(found), found["deterministic"]) == (6, True)
    assert read_run_file(tmp_path / "third")["config"]["models"] == {"default": f"recorded:{tmp_path / 'first'}"}


def test_a_difference_is_reported_with_its_place_and_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = play_shifting(tmp_path)
    monkeypatch.setenv("SHIFTING", "nothing")
    failed = invoke("rerun", first, "--out", tmp_path / "second")
    assert failed.returncode == 1
    for message in (
        "look/0: different, at act 1 of round/0",
        "expected: line 1: agent.look() -> You see a mug.",
        "actual: line 1: agent.look() -> You see nothing.",
        "the ending changed: direct success, now failure (unfinished)",
        f"3 episodes compared with those of {first}: 3 different.",
    ):
        assert message in failed.printed
    monkeypatch.setenv("SHIFTING", "a cup")
    reworded = invoke("rerun", first, "--out", tmp_path / "third", "--json")
    assert reworded.returncode == 1
    assert reworded.result["by_sameness"]["different"] == 3
    assert [each["then"] for each in reworded.result["differences"].values()] == [""] * 3


def test_a_second_attempt_at_an_episode_is_the_same_as_its_repetition(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = play_broken(tmp_path, monkeypatch)
    succeed("run", "--resume", first, "--again", "broken")
    assert count_same(rerun(first, "second")) == 3


def test_a_different_reply_of_a_model_is_no_error(tmp_path: Path) -> None:
    model = write_scripted_model(tmp_path, REPLY)
    play("run", *REACT, "--task", "fetch/0", "--model", model, out=tmp_path / "first")
    write_scripted_model(tmp_path, REPLY.replace("box_1", "box_2"))
    again = succeed("rerun", tmp_path / "first", "--out", tmp_path / "second")
    assert f"model {model}: changed" in again.printed
    assert "task: fetch/0 has changed" not in again.printed
    assert "different, at the reply to question 1 to the executor (executor/task.j2)" in again.printed
    assert count_same(rerun(tmp_path / "first", "third", "--recorded")) == 1


def test_a_run_that_cannot_be_repeated_is_refused(tmp_path: Path) -> None:
    first, second = play_shifting(tmp_path), tmp_path / "second"
    assert "name another folder" in refusal("rerun", first, "--out", first)
    environment = tmp_path / "shifting.py"
    environment.write_text(environment.read_text().replace("range(3)", "range(1, 3)"))
    gone = planbook("rerun", first, "--out", second)  # a process reads an environment only once
    assert gone.returncode == 2
    assert "cannot be repeated: shifting no longer has the task look/0 in this selection" in gone.stderr
    assert not second.exists()
    rewrite(first, lambda file: file["config"].update(env_options={"colour": "red"}))
    message = "shifting no longer takes these options (colour: Extra inputs"
    assert message in refusal("rerun", first, "--out", second)
    (tmp_path / "mine").mkdir()
    task = ("--env", "toy", "--task", "fetch/0", "--library", tmp_path / "mine")
    play("run", *task, "--planner", "code", "--planner-option", "code=pass", out=tmp_path / "plan")
    (tmp_path / "mine").rmdir()
    assert "which no longer exists; restore it" in refusal("rerun", tmp_path / "plan", "--out", second)


def test_no_model_for_a_role_is_refused_if_the_model_for_all_roles_would_answer(tmp_path: Path) -> None:
    play("run", *REACT, "--seeds", "0", "--model", write_scripted_model(tmp_path, REPLY), out=tmp_path / "first")
    role = ("--model", "planner=none", "--out", tmp_path / "second")
    for command in (("rerun", tmp_path / "first"), ("fork", tmp_path / "first", "0", "--at", "0")):
        assert "the model for all roles, would answer instead" in refusal(*command, *role)
    assert not (tmp_path / "second").exists()


def test_the_budget_of_the_first_run_limits_the_second(tmp_path: Path) -> None:
    play("run", "--env", "toy", "--split", "all:2", out=tmp_path / "first")
    rewrite(tmp_path / "first", lambda file: file["budget"].update(actions=1))
    again = invoke("rerun", tmp_path / "first", "--out", tmp_path / "second")
    assert again.returncode == 4
    assert f"2 episodes compared with those of {tmp_path / 'first'}: 2 not compared." in again.printed


def test_a_prompt_that_was_sent_several_times_gets_the_reply_of_each_time(tmp_path: Path) -> None:
    """The model answers the same prompt differently in each repeat of the task."""
    (tmp_path / "script.py").write_text(
        "import itertools\nnumbers = itertools.count(1)\n\ndef answer(messages, sampling):\n"
        f"    return {REPLY!r}.replace('box_1', f'box_{{next(numbers)}}')\n"
    )
    repeats = ("--sampling", "seed=null", "--repeats", "3", "--model", f"scripted:{tmp_path / 'script.py'}:answer")
    play("run", *REACT, "--task", "fetch/0", *repeats, out=tmp_path / "first")
    assert count_same(rerun(tmp_path / "first", "second", "--recorded", "--jobs", "2")) == 3
    assert count_same(rerun(tmp_path / "first", "third")) == 3, "the script begins from the start again, too"


def test_a_building_run_learns_the_same_again(tmp_path: Path) -> None:
    play(*BUILD, "--tasks-per-type", "1", out=tmp_path / "first")
    play("build", "--from", tmp_path / "first", "--model", scripted(), out=tmp_path / "copied")
    for number, name in enumerate(("first", "copied")):
        found = rerun(tmp_path / name, f"{number}", "--recorded")
        assert (count_same(found), found["learnt_the_same"]) == (2, True)
    other = succeed("rerun", tmp_path / "first", "--model", scripted("no_procedure"), "--out", tmp_path / "third")
    assert "What was learned from them is different." in other.printed


def test_the_report_says_that_a_run_is_still_played(tmp_path: Path) -> None:
    play("run", "--env", "toy", "--types", "fetch", out=tmp_path / "first")
    assert "still being played" not in invoke("report", tmp_path / "first").printed
    with closing(Run.open(tmp_path / "first", to_play=True)):
        reported = invoke("report", tmp_path / "first")
    assert reported.returncode == 0
    assert "first is still being played; the report shows its present state." in reported.printed


AGAIN = ("--again", "broken")


@pytest.fixture
def broken_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A run of three episodes. The second was broken, for a reason that no longer exists."""
    return play_broken(tmp_path, monkeypatch)


def test_only_broken_episodes_are_played_again_and_the_last_ending_counts(broken_run: Path) -> None:
    succeed("run", "--resume", broken_run, *AGAIN)
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
    succeed("run", "--resume", broken_run, *AGAIN)
    with closing(Run.open(broken_run)) as run:
        assert last_scope(run, run.entries()[1]) == "task/1/restart/2"


def test_an_interrupted_second_attempt_is_resumed_without_again(broken_run: Path) -> None:
    with closing(Run.open(broken_run, to_play=True)) as run:
        run.begin_invocation(note={"again": ["task/1"]})
        run.end_invocation()
        assert sorted(recorded_endings(run)) == [0, 2]
        assert read_run(run, "run").episodes[1].ending.outcome is Outcome.NOT_RUN
    succeed("run", "--resume", broken_run)
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
        succeed("run", "--resume", broken_run)
        following.catch_up()
        assert following.results.order == [0, 2, 1]
        assert following.results.episodes[1].ending.outcome is Outcome.DIRECT_SUCCESS


PLAN = "print(agent.look())\nprint(agent.look())\nprint(agent.look())\n"
THINGS = "mug_1, mug_2 and 5 cups"


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with an environment, which tests may change, and a run that was played in it."""
    folder = tmp_path_factory.mktemp("recorded")
    write_shelf(folder, THINGS, looks=2)
    (folder / "plan.py").write_text(PLAN)
    done = planbook("exec", "plan.py", "--env", "shelf.py", "--task", "look/0", "--out", "run", cwd=folder)
    assert done.returncode == 0, done.stderr
    return folder


def replay(folder: Path, run: str = "run") -> tuple[int, Any, str]:
    """Replay the run; return the exit code, the result and the standard error."""
    done = planbook("replay", run, "--json", cwd=folder)
    assert "Traceback" not in done.stderr
    return done.returncode, json.loads(done.stdout), done.stderr


@pytest.mark.parametrize(
    ("things", "looks", "sameness", "act"),
    [
        (THINGS, 2, "same", 0),
        ("mug_7, mug_3 and 5 cups", 2, "different", 1),
        ("cup_1, mug_2 and 5 cups", 2, "different", 1),
        ("mug_1, mug_2 and 6 cups", 2, "different", 1),
        (THINGS, 4, "different", 2),
    ],
    ids=["unchanged", "other ids", "another word", "another number", "a longer episode"],
)
def test_a_replay_reports_the_first_difference(
    recorded: Path, things: str, looks: int, sameness: str, act: int
) -> None:
    write_shelf(recorded, things, looks)
    code, result, printed = replay(recorded)
    assert (code, result["by_sameness"][sameness]) == (int(act > 0), 1)
    assert result["differed"] == (["the environment's file shelf.py: changed"] if act else [])
    assert ("Changed since run began:" if act else "No input of run has changed since it began.") in printed
    if act:
        assert f"look/0: {sameness}, at act {act}" in printed
    if act == 1:
        assert f"expected: line 1: agent.look() -> On shelf_1 you see {THINGS}." in printed
        assert f"actual:   line 1: agent.look() -> On shelf_1 you see {things}." in printed
    assert ("the ending changed: direct success, now failure" in printed) == (looks == 4)
    assert ("The verdict changed in 1 of them." in printed) == (looks == 4)


@pytest.mark.parametrize(("played", "replayed"), [(1, 2), (2, 1)], ids=["one more", "one fewer"])
def test_an_action_that_only_one_of_the_episodes_has_is_the_first_difference(
    recorded: Path, played: int, replayed: int
) -> None:
    write_shelf(recorded, looks=9)
    environment = (recorded / "shelf.py").read_text().replace("import Environment", "import Environment, query")
    query = "    @query()\n    def number(self) -> int:\n        return COUNT\n"

    def write(number: int) -> None:
        (recorded / "shelf.py").write_text(environment + query.replace("COUNT", str(number)))

    (recorded / "loop.py").write_text("for _ in range(agent.number()):\n    agent.look()\n")
    write(played)
    out = f"{played}-{replayed}"
    options = ("--env", "shelf.py", "--task", "look/0", "--out", out)
    assert planbook("exec", "loop.py", *options, cwd=recorded).returncode == 0
    write(replayed)
    assert "look/0: different, at act 2 of round/0" in replay(recorded, out)[2]


def test_a_run_is_replayed_although_the_digests_of_its_data_need_a_task_that_is_gone(recorded: Path) -> None:
    write_shelf(recorded, THINGS, looks=2)
    environment = (recorded / "shelf.py").read_text().replace("import Environment", "import BadSelection, Environment")
    checksums = "def checksums(cls, tasks, options=None):\n        raise BadSelection('no look/0')\n"
    (recorded / "shelf.py").write_text(f"{environment}    @classmethod\n    {checksums}")
    code, result, _ = replay(recorded)
    assert (code, result["by_sameness"]["same"], result["differed"]) == (0, 1, ["data: no look/0"])


def test_a_replay_answers_model_calls_with_the_recorded_replies(recorded: Path) -> None:
    write_shelf(recorded, looks=2)
    model = write_scripted_model(recorded, "```python\nprint(agent.look())\nprint(agent.look())\n```")
    command = ("run", "--env", "shelf.py", "--task", "look/0", "--planner", "react", "--model", model)
    done = planbook(*command, "--out", "asked", cwd=recorded)
    assert done.returncode == 0, done.stderr
    write_shelf(recorded, "cup_1", looks=3)
    _, _, printed = replay(recorded, "asked")
    assert "look/0: different, at act 1" in printed
    assert "the ending is now unknown: the planner makes more model calls than were recorded" in printed
    text = (recorded / "shelf.py").read_text().replace("looks == 3", "looks == 2")
    (recorded / "shelf.py").write_text(text.replace("Verdict(self.looks == 2", "Verdict(self.looks == 5"))
    _, result, printed = replay(recorded, "asked")
    assert "the ending changed: direct success, now failure" in printed
    assert result["verdicts_changed"] == 1


def test_a_changed_verdict_counts_in_every_repeat(recorded: Path) -> None:
    write_shelf(recorded, THINGS, looks=2)
    options = ("--env", "shelf.py", "--task", "look/0", "--repeats", 2, "--out", "twice")
    assert planbook("exec", "plan.py", *options, cwd=recorded).returncode == 0
    write_shelf(recorded, THINGS, looks=4)
    assert replay(recorded, "twice")[1]["verdicts_changed"] == 2
