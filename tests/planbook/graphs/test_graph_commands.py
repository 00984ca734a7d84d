"""`planbook graph`, other commands on the run of a prompt graph, and AgentKit with a graph from a file."""

import os
import pty
import re
import signal
import subprocess
import sys
import time
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planbook.config import Config, effective_options
from planbook.errors import MISSING
from planbook.runs import Run
from tests.command import ROOT, planbook
from tests.executing import start, wait_until
from tests.flows import Finished, invoke, refusal, succeed
from tests.reported import Page

DRIVE = ROOT / "tests" / "planner" / "graph" / "drive.yaml"
SCRIPT = '''
"""Answers by what the last line of the question asks for."""
import os
from pathlib import Path

HERE = Path(__file__).parent


def answer(messages, sampling):
    prompt = messages[-1].content
    with open(HERE / "asked", "a") as file:
        file.write(prompt.replace("\\n", " ")[-60:] + "\\n")
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


def run(script: str, out: Path, *more: object) -> Finished:
    return invoke("graph", "run", DRIVE, "--model", script, "--set", "road=A bridge.", "--out", out, *more)


def result(script: str, out: Path, *more: object) -> Any:
    """Run the graph, and return the result without its duration."""
    return run(script, out, *more, "--json").result | {"seconds": 0}


def start_run(model: str, out: Path) -> "subprocess.Popen[str]":
    """Start a run that asks two nodes at a time, in its own process."""
    arguments = ("--model", model, "--set", "road=A bridge.", "--side-by-side", "2", "--out", str(out))
    return start(["graph", "run", str(DRIVE), *arguments])


def calls(tmp_path: Path) -> int:
    """Return how often the script was asked."""
    return len((tmp_path / "asked").read_text().splitlines())


def answered(folder: Path) -> int:
    """Return the number of recorded answers."""
    with closing(Run.open(folder, graphs=True)) as opened:
        return sum(1 for _ in opened.store.events("task/0", "ask"))


def test_draw_writes_mermaid_and_svg(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    drawn = invoke("graph", "draw", DRIVE).stdout
    assert drawn.startswith("flowchart TD\n")
    succeed("graph", "draw", DRIVE, "--out", tmp_path / "d.txt")
    assert (tmp_path / "d.txt").read_text() == drawn
    assert "cannot be written" in refusal("graph", "draw", DRIVE, "--out", tmp_path / "none" / "x.mmd")
    (tmp_path / "dot").write_text("#!/bin/sh\necho '<svg/>'\n")
    (tmp_path / "dot").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    succeed("graph", "draw", DRIVE, "--out", tmp_path / "drive.svg")
    assert (tmp_path / "drive.svg").read_text() == "<svg/>\n"
    (tmp_path / "dot").unlink()
    without = invoke("graph", "draw", DRIVE, "--out", tmp_path / "y.svg")
    assert without.returncode == MISSING
    assert "Graphviz, which is not installed" in without.printed
    assert not (tmp_path / "y.svg").exists()


def test_a_new_graph_has_no_faults_and_can_be_run(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    succeed("graph", "new", tmp_path / "mine")
    text = path.read_text()
    assert f"planbook graph run {path} --set question=" in text
    assert invoke("graph", "check", path).stdout.startswith(f"{path}: no faults; 6 nodes")
    (tmp_path / "parts.py").write_text(
        "def answer(messages, sampling):\n"
        "    prompt = messages[-1].content\n"
        "    if 'JSON' in prompt:\n        return '[\"a\", \"b\"]'\n"
        "    return 'Yes.' if 'yes or no' in prompt else f'So: {len(prompt)}'\n"
    )
    arguments = ("--set", "question=Why?", "--model", f"scripted:{tmp_path / 'parts.py'}:answer")
    found = invoke("graph", "run", path, *arguments, "--out", tmp_path / "run", "--json").result
    assert found["problem"] == ""
    assert set(found["answers"]) == {"parts", "parts:1", "parts:2", "draft", "incomplete", "repair", "final"}
    path.write_text("mine")
    assert "already exists; edit it, or name another file" in refusal("graph", "new", path)
    assert path.read_text() == "mine"
    assert "cannot be written" in refusal("graph", "new", tmp_path / "none" / "x.yaml")


def test_a_value_that_the_graph_does_not_use_is_refused(tmp_path: Path, script: str) -> None:
    (tmp_path / "road.txt").write_text("A ferry.")
    for mistake in (("--set", "raod=x"), ("--set", f"raod=@{tmp_path / 'road.txt'}")):
        message = 'nothing in drive uses raod; did you mean "road"? It takes road, route, route.target, '
        assert message in run(script, tmp_path / "run", *mistake).printed
    used = ("--set", 'route={"target": "home"}', "--set", "warnings.first=x", "--set", "route.way=x")
    assert "nothing in drive" not in run(script, tmp_path / "run", *used).printed
    plain = tmp_path / "plain.yaml"
    plain.write_text("nodes:\n  a: {prompt: x}\n")
    arguments = ("graph", "run", plain, "--model", script, "--out", tmp_path / "plain", "--set", "x=1")
    assert "nothing in plain uses x. It takes no values" in refusal(*arguments)
    plain.write_text("nodes:\n  a: {prompt: x, finish: mine.py:f}\n")
    (tmp_path / "mine.py").write_text("def f(finishing):\n    finishing.database.get('x')\n")
    assert invoke(*arguments).returncode == 0, "a hook may use any value"


def test_a_graph_that_plays_an_environment_is_refused_with_the_right_command(tmp_path: Path) -> None:
    mine = tmp_path / "mine.yaml"
    mine.write_text("code: a\nnodes:\n  a: {prompt: 'Do {{ db.world.goal }}', expect: code}\n")
    for name, command_options in (
        ("crafter", "--env ENV --planner-option graph=crafter"),
        ("general", "--env ENV --planner-option graph=general"),
        (mine, f"--env ENV --planner-option graph={mine}"),
    ):
        message = f"plays an environment, one pass per step: use planbook run --planner agentkit {command_options}"
        assert message in refusal("graph", "run", name)
    assert "asks a model" in refusal("graph", "run", mine, "--set", "world.goal=x")


def test_run_prints_every_answer_and_ends_with_the_last(tmp_path: Path, script: str) -> None:
    done = run(script, tmp_path / "run")
    assert (done.returncode, done.stdout) == (0, "So it is.\n")
    for message in (
        "users [pass 1, layer 1]",
        "users:1 [pass 1, layer 2]",
        "reroute [pass 1, layer 4]",
        "act [pass 1, layer 5]\n    brake",
        "log [pass 1, layer 6]",
        f"Everything is in {tmp_path / 'run'}",
    ):
        assert message in done.stderr


def test_a_second_run_of_the_same_command_asks_nothing(tmp_path: Path, script: str) -> None:
    (tmp_path / "risk").write_text("No.")
    first = result(script, tmp_path / "run", "--passes", 2, "--side-by-side", 3)
    assert (first["graph"], first["passes"], first["answer"], first["problem"]) == ("drive", 2, "", "")
    assert first["skipped"] == ["signs", "log"]
    assert first["database"]["intentions"] == ["no", "no"]
    assert first["model_calls"] == calls(tmp_path) == 11
    again = run(script, tmp_path / "run", "--passes", 2, "--json")
    assert again.result | {"seconds": 0} == first
    assert "14 nodes had already been answered" in again.stderr
    assert calls(tmp_path) == 11
    assert result(script, tmp_path / "run", "--passes", 3)["passes"] == 3
    assert calls(tmp_path) > 11


def test_ctrl_c_stops_a_run_that_waits_for_answers(tmp_path: Path) -> None:
    child = start_run(f"exchange:{tmp_path / 'box'}", tmp_path / "run")
    wait_until(lambda: len(list(tmp_path.glob("box/*.prompt.md"))) == 2)
    child.send_signal(signal.SIGINT)
    printed, _ = child.communicate(timeout=20)
    assert child.returncode == 130
    assert f"Stopped. Continue with the same command and --out {tmp_path / 'run'}" in printed


def test_a_second_ctrl_c_does_not_wait_for_models(tmp_path: Path) -> None:
    (tmp_path / "silent.py").write_text(
        f"import pathlib, time\n\ndef answer(*_):\n    pathlib.Path('{tmp_path}/asked').touch()\n    time.sleep(60)\n"
    )
    child = start_run(f"scripted:{tmp_path}/silent.py:answer", tmp_path / "run")
    wait_until((tmp_path / "asked").exists)
    for _ in range(2):
        child.send_signal(signal.SIGINT)
        time.sleep(1)
    printed, _ = child.communicate(timeout=30)
    assert child.returncode == 130
    assert "Press Ctrl-C again to stop immediately" in printed


def test_a_run_that_failed_can_be_shown_and_asks_only_the_failed_node_again(tmp_path: Path, script: str) -> None:
    (tmp_path / "risk").write_text("N/A")
    assert [run(script, tmp_path / "run").returncode for _ in range(2)] == [1, 1]
    assert calls(tmp_path) == 2 + 3 + 3, "users, signs, and twice the first item with its repairs"
    shown = invoke("show", tmp_path / "run", 0).printed
    assert "has begun but not ended" in shown
    assert "users" in shown
    (tmp_path / "risk").write_text("Yes.")
    done = result(script, tmp_path / "run")
    assert (done["problem"], done["answer"], done["model_calls"]) == ("", "So it is.", calls(tmp_path))
    (tmp_path / "risk").write_text("N/A")
    assert result(script, tmp_path / "run") == done
    assert calls(tmp_path) == done["model_calls"]


def test_a_run_that_used_up_its_budget_can_be_resumed(tmp_path: Path, script: str) -> None:
    done = run(script, tmp_path / "run", "--budget", "calls=3", "--json")
    assert (done.returncode, done.result["model_calls"]) == (4, 3)
    assert "the budget of 3 calls is used up" in done.stderr
    assert run(script, tmp_path / "run", "--budget", "calls=30").returncode == 0
    assert calls(tmp_path) == 8


def test_missing_or_faulty_arguments_are_named(tmp_path: Path, script: str) -> None:
    (tmp_path / "road.txt").write_text("A ferry.")
    arguments = ("graph", "run", DRIVE, "--model", script, "--out", tmp_path / "run")
    missing = "needs road (What is seen, in a sentence or two.): give it with --set road="
    assert missing in refusal(*arguments)
    succeed(*arguments, "--set", f"road=@{tmp_path / 'road.txt'}")
    assert "A ferry." in (tmp_path / "run" / "run.json").read_text()
    for wrong, message in (
        (("--set", "road=@none"), "cannot be read"),
        (("--set", "a b=1"), "is not a database path"),
        (("--model", "carefull=x"), 'no node in drive asks the role carefull; did you mean "careful"?'),
    ):
        assert message in refusal(*arguments, "--set", "road=x", *wrong)
    assert "drive asks a model (graph, careful)" in refusal("graph", "run", DRIVE, "--set", "road=x")


def test_a_missing_input_is_asked_for_at_a_terminal(tmp_path: Path, script: str) -> None:
    controller, terminal = pty.openpty()
    arguments = [sys.executable, "-m", "planbook", "graph", "run", DRIVE, "--model", script, "--out", tmp_path / "run"]
    os.write(controller, b"A tunnel.\n")
    done = subprocess.run([*map(str, arguments)], cwd=ROOT, stdin=terminal, capture_output=True, text=True, timeout=60)
    os.close(controller)
    os.close(terminal)
    assert done.returncode == 0, done.stderr
    assert "What is seen, in a sentence or two. (road):" in done.stderr
    assert done.stdout == "So it is.\n"
    assert "A tunnel." in (tmp_path / "run" / "run.json").read_text()


def test_a_run_without_an_answer_stops_and_says_how_to_resume(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text('replies = [\'{"users": [], "crowded": "no"}\']\n')
    done = run(f"scripted:{tmp_path / 'script.py'}:replies", tmp_path / "run")
    assert f"Once this is solved, resume with the same command and --out {tmp_path / 'run'}" in done.printed
    assert answered(tmp_path / "run") == 1


def test_a_folder_with_another_run_is_refused(tmp_path: Path, script: str) -> None:
    copy, hooks = tmp_path / "drive.yaml", tmp_path / "mine.py"
    copy.write_text(DRIVE.read_text())
    arguments = ("graph", "run", copy, "--model", script, "--out", tmp_path / "run")
    succeed(*arguments, "--set", "road=A bridge.")
    other = refusal(*arguments, "--set", "road=A ferry.")
    assert "holds a run with other settings (planner_options.given.road: A bridge., now A ferry.)" in other
    copy.write_text(f"# changed\n{DRIVE.read_text()}")
    changed = refusal(*arguments, "--set", "road=A bridge.")
    assert "holds a run with other settings (the graph file has changed); name another folder with --out" in changed
    copy.write_text("nodes:\n  a: {prompt: x, compose: mine.py:f}\n")
    hooks.write_text("def f(composing):\n    return 'once'\n")
    hooked = ("graph", "run", copy, "--model", script, "--out", tmp_path / "hooked")
    succeed(*hooked)
    hooks.write_text("def f(composing):\n    return 'twice'\n")
    refused = planbook(*hooked)  # in another process, since a process executes a file only once
    assert "a hook has changed" in " ".join(refused.stderr.split())
    invoke("run", "--env", "toy", "--seeds", "0", "--out", tmp_path / "episodes")
    assert "holds a run with other settings (--planner: procedures, now " in run(script, tmp_path / "episodes").printed


def test_other_commands_say_that_the_folder_holds_the_run_of_a_graph(tmp_path: Path, script: str) -> None:
    run(script, tmp_path / "run")
    for command in ("watch", "rules", "replay", "run --resume"):
        printed = invoke(*command.split(), tmp_path / "run").printed
        assert "holds passes of a prompt graph, without an environment" in printed
    assert "found no run with episodes in an environment" in refusal("stats", tmp_path / "run")


def test_show_and_report_open_the_run_of_a_graph(tmp_path: Path, script: str) -> None:
    assert run(script, tmp_path / "run", "--passes", 2).returncode == 0
    shown = succeed("show", tmp_path / "run", 0, "--prompts")
    assert "\ntype graph, seed 0\n" in shown.stdout
    for message in ("Decides how to go on by what the road looks like.", "reroute", "brake", "The road: A bridge."):
        assert message in shown.stdout
    spans = invoke("show", tmp_path / "run", "drive", "--json").result["spans"]
    assert [span["data"]["node"] for span in spans][:4] == ["users", "signs", "users:1", "users:2"]
    succeed("report", tmp_path / "run", "--out", tmp_path / "report.html")
    assert "reroute" in (tmp_path / "report.html").read_text()


SLOW = """
from pathlib import Path
from time import sleep


def answer(messages, sampling):
    if messages[0].content == "menu":
        sleep(0.2)
        return "soup"
    return "0" if Path(__file__).with_name("mended").exists() else "many"
"""


def test_questions_are_shown_below_their_node_even_if_nodes_are_asked_at_the_same_time(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text(SLOW)
    (tmp_path / "two.yaml").write_text("nodes:\n  menu: {prompt: menu}\n  count: {prompt: count, expect: whole}\n")
    model = ("--model", f"scripted:{tmp_path / 'script.py'}:answer", "--out", tmp_path / "run")
    command = ("graph", "run", tmp_path / "two.yaml", *model, "--passes", 2, "--side-by-side", 2)
    assert invoke(*command).returncode == 1
    (tmp_path / "mended").touch()
    succeed(*command)
    shown = re.sub(r" \(.* tokens.*\)", "", succeed("show", tmp_path / "run", 0).stdout)
    menu, count = "  answer: soup\n  graph was asked menu\n", "  graph was asked count\n"
    for number, asked in ((1, 4), (2, 1)):
        place = f"[pass {number}, layer 1]"
        assert f"node menu {place}\n{menu}node count {place}\n  answer: 0\n{count * asked}" in shown


GRAPH = """
nodes:
  look: {prompt: "What is in {{ db.world.observation }}?", model: scout}
  act: {prompt: "Go on.", after: [look], expect: code}
code: act
"""
MODELS = """
def scout(messages, sampling):
    return "I see boxes."


def act(messages, sampling):
    return "```python\\nagent.open('box_1')\\n```"
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "mine.yaml").write_text(GRAPH)
    (tmp_path / "models.py").write_text(MODELS)
    return tmp_path


def play(folder: Path, *more: str, graph: str = "mine.yaml") -> Finished:
    task = ("--planner", "agentkit", "--env", "toy", "--task", "fetch/0")
    graph = str(folder / graph) if graph.endswith(".yaml") else graph
    options = ("--planner-option", f"graph={graph}", "--planner-option", "steps=2")
    return invoke("run", *task, *options, "--out", folder / "run", *more)


def test_a_graph_from_a_file_asks_the_roles_that_it_names(folder: Path) -> None:
    models = (f"scout=scripted:{folder / 'models.py'}:scout", f"graph=scripted:{folder / 'models.py'}:act")
    finished = play(folder, "--model", models[0], "--model", models[1], "--json")
    assert finished.returncode == 0, finished.printed
    assert (finished.result["model_calls"], finished.result["mean_actions"]) == (4, 2.0)
    succeed("report", folder / "run")
    page = Page(folder / "run" / "report.html")
    assert any("promptlook2" in table.replace(" ", "").replace("\n", "") for table in page.all("table"))


@pytest.mark.parametrize(
    ("graph", "role", "messages"),
    [
        ("mine.yaml", "scouts=", ("there is no role 'scouts'", "scout,")),
        ("nosuch", "", ("there is no graph nosuch; name a YAML file",)),
        ("broken.yaml", "", ("broken.yaml:3:",)),
    ],
)
def test_unknown_roles_and_unreadable_graphs_are_refused(
    folder: Path, graph: str, role: str, messages: tuple[str, ...]
) -> None:
    (folder / "broken.yaml").write_text("nodes:\n  act:\n    expect: codes\n    prompt: Go on.\ncode: act\n")
    refused = play(folder, "--model", f"{role}scripted:{folder / 'models.py'}:act", graph=graph)
    assert refused.returncode == 2
    assert all(message in refused.printed for message in messages), refused.printed
    assert not (folder / "run").exists()


def test_options_have_defaults_that_depend_on_the_environment() -> None:
    config = Config(planner="agentkit", env="shopping", actions=1, models={})
    expected = {"graph": "shopping", "steps": 25, "actions_per_step": None, "max_concurrent": 1}
    assert effective_options(config, "shopping") == expected
    assert [effective_options(config, env)["graph"] for env in ("toy", "moon")] == ["general", "general"]
