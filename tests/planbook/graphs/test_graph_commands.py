"""`planbook graph new`, `check`, `draw` and `run`, and what other commands say of the run of a graph."""

import json
import os
import pty
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result

from planbook.cli import planbook
from planbook.runs import Run
from tests.command import ROOT
from tests.command import planbook as command
from tests.executing import start, wait_until
from tests.flows import here

DRIVE = ROOT / "tests" / "planner" / "graph" / "drive.yaml"
SCRIPT = '''
"""Answers by what the last line of the question asks for."""
import os, time
from pathlib import Path

HERE = Path(__file__).parent


def answer(messages, sampling):
    prompt = messages[-1].content
    with open(HERE / "asked", "a") as file:
        file.write(prompt.replace("\\n", " ")[-60:] + "\\n")
    slow = HERE / "slow"
    if slow.exists():
        time.sleep(float(slow.read_text()))
    if "users" in prompt and "JSON" in prompt:
        return '{"users": ["a bus", "a dog"], "crowded": "no"}'
    if "yes or no" in prompt:
        return (HERE / "risk").read_text() if (HERE / "risk").exists() else "Yes."
    if "one of" in prompt:
        return "brake"
    return "So it is."
'''


@pytest.fixture
def script(tmp_path: Path) -> str:
    (tmp_path / "script.py").write_text(SCRIPT)
    return f"scripted:{tmp_path / 'script.py'}:answer"


def invoked(*arguments: object) -> Result:
    return CliRunner().invoke(planbook, ["graph", *map(str, arguments)], standalone_mode=False)


def result_of(done: Result) -> Any:
    assert done.exception is None, done.output
    return json.loads(done.stdout.splitlines()[-1])


def run(script: str, out: Path, *more: object) -> Result:
    return invoked("run", DRIVE, "--model", script, "--set", "road=A bridge.", "--out", out, *more)


def started(model: str, out: Path) -> "subprocess.Popen[str]":
    """Start a run that asks two nodes at a time, in a process of its own."""
    given = ("--model", model, "--set", "road=A bridge.", "--side-by-side", "2", "--out", str(out))
    return start(["graph", "run", str(DRIVE), *given])


def asked(tmp_path: Path) -> list[str]:
    return (tmp_path / "asked").read_text().splitlines()


def test_check_tells_a_sound_graph_by_its_layers() -> None:
    done = invoked("check", DRIVE)
    assert done.return_value == 0
    assert done.output.splitlines() == [
        f"{DRIVE}: no faults; 7 nodes in 6 layers:",
        "  1. users, signs",
        "  2. users:user (each of users)",
        "  3. risk",
        "  4. reroute (if risk)",
        "  5. act",
        "  6. log",
    ]


def test_the_format_is_told_and_its_example_is_sound(tmp_path: Path) -> None:
    """What it shows is a graph that can be run as it stands."""
    text = invoked("format").stdout
    example = "".join(line.removeprefix("    ") for line in text.splitlines(True) if line.startswith("    "))
    (tmp_path / "example.yaml").write_text(example)
    checked = invoked("check", tmp_path / "example.yaml")
    assert checked.return_value == 0, checked.output
    for key in ("compose", "is defined", "one of: a, b", 'db.plan | default("nothing yet")'):
        assert key in text


def test_draw_writes_mermaid_and_svg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    done = invoked("draw", DRIVE)
    assert done.stdout.startswith("flowchart TD\n")
    assert invoked("draw", DRIVE, "--format", "mermaid", "--out", tmp_path / "d.txt").return_value == 0
    assert (tmp_path / "d.txt").read_text() == done.stdout
    assert "cannot be written" in str(invoked("draw", DRIVE, "--out", tmp_path / "none" / "x.mmd").exception)
    (tmp_path / "dot").write_text("#!/bin/sh\necho '<svg/>'\n")
    (tmp_path / "dot").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert invoked("draw", DRIVE, "--out", tmp_path / "drive.svg").return_value == 0
    assert (tmp_path / "drive.svg").read_text() == "<svg/>\n"
    assert invoked("draw", DRIVE, "--format", "svg", "--out", tmp_path / "x").return_value == 0
    assert (tmp_path / "x").read_text() == "<svg/>\n"
    (tmp_path / "dot").unlink()
    assert "Graphviz, which is not installed" in str(invoked("draw", DRIVE, "--out", tmp_path / "y.svg").exception)
    assert not (tmp_path / "y.svg").exists()


def test_a_new_graph_is_sound_and_runs_as_it_is(tmp_path: Path, script: str) -> None:
    made = invoked("new", tmp_path / "mine")
    assert (made.exception, made.return_value) == (None, 0)
    path = tmp_path / "mine.yaml"
    text = path.read_text()
    assert f"planbook graph run {path} --set question=" in text
    assert invoked("check", path).output.startswith(f"{path}: no faults; 6 nodes in 6 layers:")
    (tmp_path / "parts.py").write_text(
        "def answer(messages, sampling):\n"
        "    prompt = messages[-1].content\n"
        "    if 'JSON' in prompt:\n        return '[\"a\", \"b\"]'\n"
        "    return 'Yes.' if 'yes or no' in prompt else f'So: {len(prompt)}'\n"
    )
    given = ("--set", "question=Why?", "--model", f"scripted:{tmp_path / 'parts.py'}:answer")
    ran = result_of(invoked("run", path, *given, "--out", tmp_path / "run", "--json"))
    assert (ran["problem"], set(ran["answers"])) == (
        "", {"parts", "parts:1", "parts:2", "draft", "sound", "repair", "final"},
    )  # fmt: skip
    path.write_text(text.replace("one question to the model", "mine"))
    again = invoked("new", path)
    assert "exists already; edit it, or name another file" in str(again.exception)
    assert "mine" in path.read_text(), "nothing is overwritten"
    assert "cannot be written" in str(invoked("new", tmp_path / "none" / "x.yaml").exception)


def test_a_value_that_nothing_uses_is_refused(tmp_path: Path, script: str) -> None:
    (tmp_path / "road.txt").write_text("A ferry.")
    for slip in (("--set", "raod=x"), ("--input", f"raod=@{tmp_path / 'road.txt'}")):
        message = str(run(script, tmp_path / "run", *slip).exception)
        assert 'nothing in drive uses raod; did you mean "road"? It takes road, route, route.target, ' in message
    used = ("--set", 'route={"target": "home"}', "--set", "warnings.first=x", "--set", "route.way=x")
    assert "nothing in drive" not in str(run(script, tmp_path / "run", *used).exception)
    plain = tmp_path / "plain.yaml"
    plain.write_text("nodes:\n  a: {prompt: x}\n")
    given = ("run", plain, "--model", script, "--out", tmp_path / "plain", "--set", "x=1")
    assert "nothing in plain uses x. It takes no values" in str(invoked(*given).exception)
    plain.write_text("nodes:\n  a: {prompt: x, finish: mine.py:f}\n")
    (tmp_path / "mine.py").write_text("def f(finishing):\n    finishing.database.get('x')\n")
    assert invoked(*given).return_value == 0, "a hook may use any"


def test_a_graph_that_plays_an_environment_is_run_otherwise(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("code: a\nnodes:\n  a: {prompt: 'Do {{ db.world.goal }}', expect: code}\n")
    for name, how in (
        ("crafter", "--env crafter`"),
        ("general", "--env ENV --planner-option graph=general`"),
        (mine, f"--env ENV --planner-option graph={mine}`"),
    ):
        message = str(invoked("run", name).exception)
        assert f"plays an environment, one pass per step: `planbook run --planner agentkit {how}" in message
    assert "asks a model" in str(invoked("run", mine, "--set", "world.goal=x").exception)


def test_run_prints_each_answer_and_the_last_one_at_the_end(tmp_path: Path, script: str) -> None:
    done = run(script, tmp_path / "run")
    assert (done.exception, done.return_value) == (None, 0)
    assert done.stdout == "So it is.\n"
    for message in (
        "[layer 1] users",
        "[layer 2] users:1",
        "[layer 4] reroute",
        "[layer 5] act\n    brake",
        "[layer 6] log",
    ):
        assert message in done.stderr, done.stderr
    assert f"Everything is in {tmp_path / 'run'}" in done.stderr


def test_run_ends_with_one_json_object_and_a_second_time_asks_nothing(tmp_path: Path, script: str) -> None:
    (tmp_path / "risk").write_text("No.")
    first = result_of(run(script, tmp_path / "run", "--passes", 2, "--side-by-side", 3, "--json"))
    assert (first["graph"], first["passes"], first["answer"], first["problem"]) == ("drive", 2, "", "")
    assert first["skipped"] == ["signs", "log"]
    assert first["database"]["intentions"] == ["no", "no"]
    assert first["model_calls"] == len(asked(tmp_path)) == 11
    again = run(script, tmp_path / "run", "--passes", 2, "--json")
    assert result_of(again) | {"seconds": 0} == first | {"seconds": 0}
    assert "14 nodes had been answered already" in again.stderr
    assert len(asked(tmp_path)) == 11
    assert result_of(run(script, tmp_path / "run", "--passes", 3, "--json"))["passes"] == 3
    assert len(asked(tmp_path)) > 11


@pytest.mark.deep
def test_a_run_killed_again_and_again_asks_nothing_twice(tmp_path: Path, script: str) -> None:
    """kill -9 while nodes are asked side by side: whatever had been answered is not asked again."""
    (tmp_path / "slow").write_text("0.15")
    for _ in range(2):
        before = len(asked(tmp_path)) if (tmp_path / "asked").exists() else 0
        child = started(script, tmp_path / "run")
        wait_until(lambda: (tmp_path / "asked").exists() and len(asked(tmp_path)) > before + 1)  # noqa: B023
        child.kill()
        child.communicate()
        assert child.returncode == -signal.SIGKILL
    (tmp_path / "slow").unlink()
    lost = len(asked(tmp_path)) - answered(tmp_path / "run")
    assert result_of(run(script, tmp_path / "run", "--side-by-side", 2, "--json"))["model_calls"] == 8
    assert len(asked(tmp_path)) == 8 + lost, "only what was under way when it was killed is asked again"


def answered(folder: Path) -> int:
    opened = Run.open(folder, graphs=True)
    try:
        return sum(1 for _ in opened.store.events("task/0", "ask"))
    finally:
        opened.close()


def test_ctrl_c_stops_what_is_waited_for_and_the_same_command_goes_on(tmp_path: Path) -> None:
    """Nobody answers the exchange: the run would wait for ever."""
    child = started(f"exchange:{tmp_path / 'box'}", tmp_path / "run")
    wait_until(lambda: len(list(tmp_path.glob("box/*.prompt.md"))) == 2)
    child.send_signal(signal.SIGINT)
    printed, _ = child.communicate(timeout=20)
    assert child.returncode == 130
    assert f"Stopped. Continue with the same command and --out {tmp_path / 'run'}" in printed


def test_the_same_command_asks_the_failed_node_anew_and_resumes_to_the_same(tmp_path: Path, script: str) -> None:
    (tmp_path / "risk").write_text("N/A")
    assert [run(script, tmp_path / "run", "--json").return_value for _ in range(2)] == [1, 1]
    assert len(asked(tmp_path)) == 2 + 3 + 3, "users, signs, and twice the first item with its repairs"
    (tmp_path / "risk").write_text("Yes.")
    done = result_of(run(script, tmp_path / "run", "--json"))
    assert (done["problem"], done["answer"]) == ("", "So it is.")
    calls = len(asked(tmp_path))
    (tmp_path / "risk").write_text("N/A")
    again = result_of(run(script, tmp_path / "run", "--json"))
    assert again | {"seconds": 0} == done | {"seconds": 0}
    assert len(asked(tmp_path)) == calls == done["model_calls"], "what was answered in the end is not asked again"


def test_a_budget_ends_a_run_that_another_sitting_finishes(tmp_path: Path, script: str) -> None:
    done = run(script, tmp_path / "run", "--budget", "calls=3", "--json")
    assert (done.return_value, result_of(done)["model_calls"]) == (4, 3)
    assert "the budget of 3 calls is used up" in done.stderr
    assert run(script, tmp_path / "run", "--budget", "calls=30").return_value == 0
    assert len(asked(tmp_path)) == 8


def test_what_a_graph_needs_is_asked_for_by_name(tmp_path: Path, script: str) -> None:
    (tmp_path / "road.txt").write_text("A ferry.")
    assert "needs road (What is seen, in a sentence or two.): give it with --set road=" in str(
        invoked("run", DRIVE, "--model", script).exception
    )
    given = ("run", DRIVE, "--model", script, "--out", tmp_path / "run")
    assert invoked(*given, "--input", f"road=@{tmp_path / 'road.txt'}").return_value == 0
    assert "A ferry." in Run.open(tmp_path / "run", graphs=True).config.model_dump_json()
    for wrong, message in (
        (("--input", "road=x"), "write PATH=@FILE"),
        (("--input", "road=@none"), "cannot be read"),
        (("--set", "a b=1"), "is not a path"),
        (("--model", "carefull=x"), 'no node of drive asks carefull; did you mean "careful"?'),
    ):
        assert message in str(invoked(*given, "--set", "road=x", *wrong).exception), wrong
    assert "drive asks a model (graph, careful)" in str(invoked("run", DRIVE, "--set", "road=x").exception)


def test_what_a_graph_needs_is_asked_for_at_a_terminal(tmp_path: Path, script: str) -> None:
    controller, terminal = pty.openpty()
    arguments = [sys.executable, "-m", "planbook", "graph", "run", DRIVE, "--model", script, "--out", tmp_path / "run"]
    os.write(controller, b"A tunnel.\n")
    done = subprocess.run([*map(str, arguments)], cwd=ROOT, stdin=terminal, capture_output=True, text=True, timeout=60)
    os.close(controller)
    os.close(terminal)
    assert done.returncode == 0, done.stderr
    assert "What is seen, in a sentence or two. (road):" in done.stderr
    assert done.stdout == "So it is.\n"
    assert "A tunnel." in Run.open(tmp_path / "run", graphs=True).config.model_dump_json()


def test_a_model_that_does_not_answer_stops_the_run_which_can_be_resumed(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text('replies = [\'{"users": [], "crowded": "no"}\']\n')
    done = run(f"scripted:{tmp_path / 'script.py'}:replies", tmp_path / "run")
    assert f"Then resume with the same command and --out {tmp_path / 'run'}" in str(done.exception)
    assert answered(tmp_path / "run") == 1


def test_another_graph_or_another_input_is_another_run(tmp_path: Path, script: str) -> None:
    copy = tmp_path / "drive.yaml"
    copy.write_text(DRIVE.read_text())
    given = ("run", copy, "--model", script, "--out", tmp_path / "run")
    assert invoked(*given, "--set", "road=A bridge.").return_value == 0
    other = str(invoked(*given, "--set", "road=A ferry.").exception)
    assert "holds another run (other planner_options.given.road)" in other
    copy.write_text(f"# changed\n{DRIVE.read_text()}")
    changed = str(invoked(*given, "--set", "road=A bridge.").exception)
    assert "holds another run (other planner_options.graph); name another folder with --out" in changed


def test_a_hook_that_has_changed_is_reported(tmp_path: Path, script: str) -> None:
    path, hooks = tmp_path / "graph.yaml", tmp_path / "mine.py"
    path.write_text("nodes:\n  a: {prompt: x, compose: mine.py:f}\n")
    hooks.write_text("def f(composing):\n    return 'once'\n")
    given = ("run", path, "--model", script, "--out", tmp_path / "run")
    assert invoked(*given).return_value == 0
    hooks.write_text("def f(composing):\n    return 'twice'\n")
    changed = command("graph", *given)  # files are executed once in a process
    assert "a hook has changed" in " ".join(changed.stderr.split())


@pytest.mark.parametrize("arguments", [("cost",), ("watch",), ("rules",), ("replay",), ("run", "--resume")])
def test_other_commands_say_what_the_folder_holds(tmp_path: Path, script: str, arguments: tuple[str, ...]) -> None:
    run(script, tmp_path / "run")
    refused = here(*arguments, tmp_path / "run").printed
    assert "holds passes of a prompt graph, without an environment" in refused
    assert "`planbook show` and `planbook report` show them" in refused


def test_show_and_report_open_the_run_of_a_graph(tmp_path: Path, script: str) -> None:
    assert run(script, tmp_path / "run", "--passes", 2).return_value == 0
    shown = here("show", tmp_path / "run", 0, "--prompts")
    assert shown.returncode == 0, shown.printed
    assert "\ntype graph, seed 0\n" in shown.stdout
    for message in ("Decides how to go on by what the road looks like.", "reroute", "brake", "The road: A bridge."):
        assert message in shown.stdout
    spans = here("show", tmp_path / "run", "drive", "--json").result["spans"]
    assert [span["data"]["node"] for span in spans][:4] == ["users", "signs", "users:1", "users:2"]
    out = tmp_path / "report.html"
    assert here("report", tmp_path / "run", "--out", out).returncode == 0
    assert "reroute" in out.read_text()


def test_a_run_that_failed_or_has_not_ended_can_be_shown(tmp_path: Path, script: str) -> None:
    (tmp_path / "risk").write_text("N/A")
    assert run(script, tmp_path / "run").return_value == 1
    shown = here("show", tmp_path / "run", 0)
    assert "has begun but not ended" in shown.printed
    assert "users" in shown.printed


def test_a_run_of_episodes_is_no_run_of_a_graph(tmp_path: Path, script: str) -> None:
    here("run", "--env", "toy", "--seeds", "0", "--out", tmp_path / "run")
    assert "holds another run (other " in (refused := str(run(script, tmp_path / "run").exception))
    assert "planner" in refused
