"""`planbook rerun`: repeat a run, and report where it differs."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planbook.runs import Run
from tests.command import planbook
from tests.flows import BUILD, command_of, invoke, refusal, scripted, write_scripted_model
from tests.planbook.inputs.shifting import play_shifting, read_run_file, rewrite

REPLY = "### Understanding\nBoxes.\n### Plan\n1. Look.\n### Code\n```python\nagent.open('box_1')\n```"
REACT = ("--env", "toy", "--planner", "react", "--planner-option", "iterations=1")


def play(command: str, *arguments: object, out: Path) -> None:
    played = invoke(command, *arguments, "--out", out)
    assert played.returncode == 0, played.printed


def rerun(first: Path, second: str, *options: object) -> Any:
    """Repeat a run in a folder beside it, and return the result."""
    done = invoke("rerun", first, "--out", first.parent / second, *options, "--json")
    assert done.returncode == 0, done.printed
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
    monkeypatch.setenv("SHIFTING_BROKEN", "look/1")
    first = play_shifting(tmp_path)
    monkeypatch.delenv("SHIFTING_BROKEN")
    assert invoke("run", "--resume", first, "--again", "broken").returncode == 0
    assert count_same(rerun(first, "second")) == 3


def test_a_different_reply_of_a_model_is_no_error(tmp_path: Path) -> None:
    model = write_scripted_model(tmp_path, REPLY)
    play("run", *REACT, "--task", "fetch/0", "--model", model, out=tmp_path / "first")
    write_scripted_model(tmp_path, REPLY.replace("box_1", "box_2"))
    again = invoke("rerun", tmp_path / "first", "--out", tmp_path / "second")
    assert again.returncode == 0
    assert f"model {model}: changed" in again.printed
    assert "task: fetch/0 has changed" not in again.printed
    assert "different, at the reply to question 1 to the executor (executor/task.j2)" in again.printed
    assert count_same(rerun(tmp_path / "first", "third", "--recorded")) == 1


def test_a_recorded_run_has_no_answer_to_another_prompt(tmp_path: Path) -> None:
    play("run", *REACT, "--task", "fetch/0", "--model", write_scripted_model(tmp_path, REPLY), out=tmp_path / "first")
    model = ("--model", f"recorded:{tmp_path / 'first'}")
    other = invoke("run", *REACT, "--task", "fetch/1", *model, "--out", tmp_path / "other")
    assert other.returncode == 3
    assert "has no answer to this prompt" in other.printed


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
        message = refusal(*command, *role)
        assert "--model planner=none: scripted:" in message
        assert "the model for all roles, would answer instead" in message
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
    other = invoke("rerun", tmp_path / "first", "--model", scripted("no_procedure"), "--out", tmp_path / "third")
    assert other.returncode == 0
    assert "What was learned from them is different." in other.printed


def test_the_report_says_that_a_run_is_still_played(tmp_path: Path) -> None:
    play("run", "--env", "toy", "--types", "fetch", out=tmp_path / "first")
    assert "still being played" not in invoke("report", tmp_path / "first").printed
    with closing(Run.open(tmp_path / "first", to_play=True)):
        reported = invoke("report", tmp_path / "first")
    assert reported.returncode == 0
    assert "first is still being played; the report shows its present state." in reported.printed
