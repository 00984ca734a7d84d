"""Repeating a run: the same comes out the same, and what does not is told with the place."""

import json
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planbook.errors import BadArgument, BadRun
from planbook.planner.errors import NotRecorded
from planbook.runs import Run
from tests.command import ROOT, planbook
from tests.flows import command_of, saying
from tests.planbook.inputs.commands import play_shifting, run

REPLY = "### Understanding\nBoxes.\n### Plan\n1. Look.\n### Code\n```python\nagent.open('box_1')\n```"
CAPTURED = pytest.CaptureFixture[str]


def last_json(captured: CAPTURED) -> Any:
    return json.loads(captured.readouterr().out.splitlines()[-1])


@pytest.mark.parametrize(
    "selection",
    [
        ("--env", "toy"),
        ("--env", "alfworld", "--split", "generated:2"),
        pytest.param(("--env", "textcraft", "--split", "test:3"), marks=pytest.mark.deep),
        pytest.param(("--env", "toy", "--split", "all:2", "--repeats", "2"), marks=pytest.mark.deep),
    ],
)
def test_a_run_without_models_comes_out_the_same(tmp_path: Path, capsys: CAPTURED, selection: tuple[str, ...]) -> None:
    first, second = tmp_path / "first", tmp_path / "second"
    assert run("replay", *selection, "--out", first) == 0
    capsys.readouterr()
    assert run("rerun", first, "--out", second, "--json") == 0
    found = last_json(capsys)
    assert found["totals"]["by_way"]["the same"] == found["totals"]["episodes"] > 0
    assert (found["deterministic"], found["differed"], found["episodes"]) == (True, [], [])
    assert json.loads((second / "run.json").read_text())["rerun_of"] == str(first)


def test_a_run_on_recorded_answers_comes_out_the_same_twice_over(tmp_path: Path, capsys: CAPTURED) -> None:
    """Once on the recording, and once on the run's own record of it."""
    assert run(*command_of("adapt-textcraft"), "--model", "recorded:adapt-textcraft", "--out", tmp_path / "first") == 0
    assert run("rerun", tmp_path / "first", "--out", tmp_path / "second") == 0
    capsys.readouterr()
    assert run("rerun", tmp_path / "first", "--recorded", "--out", tmp_path / "third", "--json") == 0
    found = last_json(capsys)
    assert found["totals"]["by_way"]["the same"] == 6
    assert found["deterministic"]
    models = json.loads((tmp_path / "third" / "run.json").read_text())["config"]["models"]
    assert models == {"default": f"recorded:{tmp_path / 'first'}"}


def test_another_outcome_is_reported_with_the_place_and_is_an_error(
    tmp_path: Path, capsys: CAPTURED, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, first = play_shifting(tmp_path)
    monkeypatch.setenv("SHIFTING", "nothing")
    capsys.readouterr()
    assert run("rerun", first, "--out", tmp_path / "second") == 1
    printed = capsys.readouterr().out
    assert (
        "look/0: another outcome: direct success, now failure (unfinished); they diverge at act 1 of round/0" in printed
    )
    assert "then: line 1: agent.look() -> You see a mug." in printed
    assert "now:  line 1: agent.look() -> You see nothing." in printed
    assert "Solved 3 then and 0 now: 0 gained, 3 lost (exact test over tasks: p = 0.25)." in printed


def test_another_way_to_the_same_outcome_is_distinguished(
    tmp_path: Path, capsys: CAPTURED, monkeypatch: pytest.MonkeyPatch
) -> None:
    _, first = play_shifting(tmp_path)
    monkeypatch.setenv("SHIFTING", "a cup")
    capsys.readouterr()
    assert run("rerun", first, "--out", tmp_path / "second", "--json") == 1
    found = last_json(capsys)
    assert found["totals"]["by_way"]["the same outcome another way"] == 3
    assert (found["totals"]["gained"], found["totals"]["lost"]) == (0, 0)


def test_a_model_that_is_free_to_differ_is_no_error(tmp_path: Path, capsys: CAPTURED) -> None:
    model = saying(tmp_path, REPLY)
    task = ("--env", "toy", "--task", "fetch/0", "--planner", "react", "--planner-option", "iterations=1")
    assert run("run", *task, "--model", model, "--out", tmp_path / "first") == 0
    saying(tmp_path, REPLY.replace("box_1", "box_2"))
    capsys.readouterr()
    assert run("rerun", tmp_path / "first", "--out", tmp_path / "second") == 0
    printed = capsys.readouterr().out
    assert f"model {model}: changed" in printed
    assert "they diverge at the reply to question 1 to the executor (executor/task.j2)" in printed
    assert run("rerun", tmp_path / "first", "--recorded", "--out", tmp_path / "third") == 0
    assert "1 the same" in capsys.readouterr().out


def test_a_run_that_goes_another_way_finds_no_recorded_answer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    model = saying(tmp_path, REPLY)
    options = ("--planner", "react", "--planner-option", "iterations=1", "--env", "toy")
    assert run("run", *options, "--task", "fetch/0", "--model", model, "--out", tmp_path / "first") == 0
    other = ("run", *options, "--task", "fetch/1", "--out", tmp_path / "other")
    with pytest.raises(NotRecorded, match="has no answer to this prompt"):
        run(*other, "--model", f"recorded:{tmp_path / 'first'}")


def test_a_task_that_is_gone_is_reported_before_anything_is_played(tmp_path: Path) -> None:
    _, first = play_shifting(tmp_path)
    environment = tmp_path / "shifting.py"
    environment.write_text(environment.read_text().replace("range(3)", "range(1, 3)"))
    refused = planbook("rerun", first, "--out", tmp_path / "second")  # an environment is read once a process
    assert refused.returncode == 2
    assert "cannot be repeated: shifting no longer has the task look/0 in this selection" in refused.stderr
    assert not (tmp_path / "second").exists()


def test_a_library_that_is_gone_is_reported(tmp_path: Path) -> None:
    (tmp_path / "mine").mkdir()
    task = ("--env", "toy", "--task", "fetch/0", "--planner", "random", "--library", tmp_path / "mine")
    assert run("run", *task, "--out", tmp_path / "first") == 0
    (tmp_path / "mine").rmdir()
    with pytest.raises(BadRun, match="which no longer exists; put it back"):
        run("rerun", tmp_path / "first", "--out", tmp_path / "second")


def test_an_option_that_the_environment_no_longer_has_is_reported(tmp_path: Path) -> None:
    _, first = play_shifting(tmp_path)
    file = first / "run.json"
    recorded = json.loads(file.read_text())
    recorded["config"]["env_options"] = {"colour": "red"}
    file.write_text(json.dumps(recorded))
    with pytest.raises(BadRun, match=r"shifting no longer takes these options \(colour: Extra inputs"):
        run("rerun", first, "--out", tmp_path / "second")


def test_the_run_itself_is_not_where_it_is_repeated(tmp_path: Path) -> None:
    _, first = play_shifting(tmp_path)
    with pytest.raises(BadArgument, match="name another folder"):
        run("rerun", first, "--out", first)


def test_the_budget_of_the_first_holds(tmp_path: Path) -> None:
    task = ("--env", "toy", "--split", "all:2")
    assert run("replay", *task, "--out", tmp_path / "first") == 0
    file = tmp_path / "first" / "run.json"
    recorded = json.loads(file.read_text())
    recorded["budget"]["actions"] = 1
    file.write_text(json.dumps(recorded))
    assert run("rerun", tmp_path / "first", "--out", tmp_path / "second") == 4


def test_the_same_question_has_the_reply_that_it_had_at_its_place(tmp_path: Path, capsys: CAPTURED) -> None:
    """A model may answer the same question otherwise a second time; here in the second repeat of the task."""
    (tmp_path / "script.py").write_text(
        "import itertools\nnumbers = itertools.count(1)\n\ndef answer(messages, sampling):\n"
        f"    return {REPLY!r}.replace('box_1', f'box_{{next(numbers)}}')\n"
    )
    options = ("--planner", "react", "--planner-option", "iterations=1", "--sampling", "seed=null", "--repeats", "3")
    model = f"scripted:{tmp_path / 'script.py'}:answer"
    command = ("run", "--env", "toy", "--task", "fetch/0", *options, "--model", model)
    assert run(*command, "--out", tmp_path / "first") == 0
    capsys.readouterr()
    assert run("rerun", tmp_path / "first", "--recorded", "--jobs", "2", "--out", tmp_path / "second", "--json") == 0
    found = last_json(capsys)
    assert found["totals"]["by_way"]["the same"] == 3
    assert run("rerun", tmp_path / "first", "--out", tmp_path / "third", "--json") == 0
    assert last_json(capsys)["totals"]["by_way"]["the same"] == 3  # the script, too, begins anew


def test_a_run_without_models_has_nothing_recorded_to_answer(tmp_path: Path, capsys: CAPTURED) -> None:
    assert run("replay", "--env", "toy", "--split", "all:2", "--out", tmp_path / "first") == 0
    assert run("rerun", tmp_path / "first", "--recorded", "--out", tmp_path / "second") == 0
    assert "2 the same" in capsys.readouterr().out


def test_a_building_run_learns_the_same_again(tmp_path: Path, capsys: CAPTURED) -> None:
    script = f"scripted:{ROOT / 'tests' / 'toy_script.py'}:answer"
    building = ("build", "--env", "toy", "--tasks-per-type", "1", "--model", script, "--out", tmp_path / "first")
    assert run(*building) == 0
    capsys.readouterr()
    assert run("rerun", tmp_path / "first", "--recorded", "--out", tmp_path / "second", "--json") == 0
    found = last_json(capsys)
    assert (found["totals"]["by_way"]["the same"], found["learnt_the_same"]) == (2, True)
    copied = ("build", "--from", tmp_path / "first", "--model", script, "--out", tmp_path / "copied")
    assert run(*copied) == 0
    capsys.readouterr()
    assert run("rerun", tmp_path / "copied", "--recorded", "--out", tmp_path / "again", "--json") == 0
    found = last_json(capsys)
    assert (found["totals"]["by_way"]["the same"], found["learnt_the_same"]) == (2, True), "also out of copies"
    lesser = f"scripted:{ROOT / 'tests' / 'toy_script.py'}:no_procedure"
    assert run("rerun", tmp_path / "first", "--model", lesser, "--out", tmp_path / "third") == 0
    assert "What was learned from them is different." in capsys.readouterr().out


def test_rerun_and_report_say_that_a_run_is_still_played(tmp_path: Path, capsys: CAPTURED) -> None:
    assert run("replay", "--env", "toy", "--types", "fetch", "--out", tmp_path / "first") == 0
    assert run("report", tmp_path / "first") == 0
    assert "still being played" not in capsys.readouterr().err
    with closing(Run.open(tmp_path / "first", to_play=True)):
        assert run("rerun", tmp_path / "first", "--out", tmp_path / "second") == 0
        assert run("report", tmp_path / "first") == 0
    printed = capsys.readouterr()
    assert "first is still being played; episodes that do not end in the meantime are not compared." in printed.out
    assert "first is still being played; the report shows its present state." in printed.err
