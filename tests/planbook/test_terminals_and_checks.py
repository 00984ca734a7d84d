"""Output to narrow or limited terminals and full devices, and messages that name the available choices."""

import json
import os
import re
import shutil
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console
from rich.table import Table
from rich.text import Text

from planbook.atomic_files import write_atomically
from planbook.console import console, right_aligned
from tests.browser import need_browser
from tests.command import ROOT, planbook, result
from tests.flows import BUILD, invoke, refusal, write_scripted_model
from tests.shelf import write_shelf

EXEC = "exec plan.py --env shelf.py --task look/0".split()


def execute(plan: str, folder: Path, *more: str) -> "subprocess.CompletedProcess[str]":
    """Write a plan and an environment into a folder, and play the plan."""
    write_shelf(folder)
    (folder / "plan.py").write_text(plan)
    return planbook(*EXEC, *more, cwd=folder)


@pytest.mark.parametrize(
    ("encoding", "more"),
    [("latin-1", ("--json",)), ("ascii:strict", ()), pytest.param("ascii", (), marks=pytest.mark.deep)],
)
def test_letters_that_a_terminal_cannot_show_are_escaped(tmp_path: Path, encoding: str, more: tuple[str]) -> None:
    write_shelf(tmp_path)
    (tmp_path / "plan.py").write_text("print('caf\\u00e9 \\u2192')\nagent.look()\n")
    env = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": encoding}
    command = [sys.executable, "-m", "planbook", *EXEC, *more]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, encoding="utf-8", errors="replace")
    assert done.returncode == 0, done.stderr
    assert "\\u2192" in done.stdout + done.stderr


def test_printed_text_is_shown_between_the_steps_and_escaped(tmp_path: Path) -> None:
    done = execute("print('first :key: [red]\\x1b[31m')\nprint('x' * 50_000)\nagent.look()\n", tmp_path)
    assert done.stdout.index("printed: first :key: [red]\\x1b[31m") < done.stdout.index("agent.look")
    assert "\x1b" not in done.stdout
    assert "48,024 more characters" in done.stdout


def test_no_file_can_send_control_codes_to_the_terminal(tmp_path: Path) -> None:
    plan, graph, run = tmp_path / "plan.py", tmp_path / "graph.yaml", tmp_path / "run"
    plan.write_text("agent.gooto('\x1b[31m')\n")
    graph.write_text('nodes:\n  "a\\e[31m": {prompt: x, "q\\e[31m": 2}\n')
    run.mkdir()
    config = {"planner": "react", "env": "toy", "actions": 1}
    (run / "run.json").write_text(json.dumps({"config": config, "begun": "", "versions": {"\x1b[31m": 1}}))
    for command in (("check", plan, "--env", "toy"), ("graph", "check", graph), ("show", run, "0")):
        refused = refusal(*command)
        assert "\\x1b[31m" in refused
        assert "\x1b" not in refused
    table = right_aligned("name", ["figure"], title="\x1b[31m title")
    table.add_row("\x1b[31m cell", Text("\x1b[31m text"))
    out = console()
    with out.capture() as captured:
        out.print(table, "\x1b[31m line")
    assert captured.get().count("\\x1b[31m") == 4
    assert "\x1b" not in captured.get()


def test_ctrl_c_while_the_command_line_is_imported_leaves_no_traceback(tmp_path: Path) -> None:
    (tmp_path / "click.py").write_text("import os, signal\nos.kill(os.getpid(), signal.SIGINT)\n")
    env = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, (tmp_path, ROOT)))}
    command = [sys.executable, "-m", "planbook", "envs"]
    stopped = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, text=True)
    assert (stopped.returncode, stopped.stdout, stopped.stderr) == (130, "", "Stopped.\n")


def test_an_empty_store_is_reported_in_one_line(tmp_path: Path) -> None:
    look = "agent.look()\n"
    assert execute(look, tmp_path, "--out", "run").returncode == 0
    for file in (tmp_path / "run").glob("run.db*"):
        file.unlink()
    (tmp_path / "run" / "run.db").write_bytes(b"")
    for refused in (execute(look, tmp_path, "--out", "run"), planbook("show", "run", "0", cwd=tmp_path)):
        assert refused.returncode == 2
        assert "run.db cannot be read as a run's store: it is empty" in refused.stderr.replace("\n", " ")
        assert "Traceback" not in refused.stderr


def test_a_misspelt_name_gets_a_suggestion(tmp_path: Path) -> None:
    refused = execute("agnet.look()\n", tmp_path)
    assert refused.returncode == 2
    assert "did you mean agent?" in refused.stderr + refused.stdout


def printed(table: Table, width: int) -> list[str]:
    """Return the lines of a table on a terminal of this width."""
    out = Console(width=width, file=StringIO(), legacy_windows=False)
    out.print(table)
    assert isinstance(out.file, StringIO)
    lines = out.file.getvalue().splitlines()
    assert all(len(line) <= width for line in lines)
    return lines


def test_a_narrow_table_shows_all_figures_and_names_in_full() -> None:
    table = right_aligned("task type", ("solved", "tasks", "%", "95 % interval", "mean actions", "mean error steps"))
    table.add_row("pick_two_obj_and_place", "5", "12", "100.0%", "56.6% to 100.0%", "13.6", "0.00")
    (row,) = [line for line in printed(table, 80) if "pick_two_obj_and_place" in line]
    assert row.split()[1:] == ["5", "12", "100.0%", "56.6\N{EN DASH}100.0%", "13.6", "0.00"]


def test_a_table_that_is_too_wide_is_printed_as_a_list() -> None:
    table = right_aligned("training\ntasks", [f"figure {number}" for number in range(12)], title="a curve")
    table.add_row("6", *["207,425"] * 12)
    text = " ".join(" ".join(printed(table, 60)).split())
    assert text.startswith("a curve training tasks 6: figure 0 207,425; figure 1 207,425;")


@pytest.mark.parametrize(
    ("code", "cause", "message"),
    [
        ("print(0)\n1 / 0", "raised", "line 2: ZeroDivisionError: division by zero"),
        (
            "while True:\n    pass",
            "limit",
            "wall: the cell ran for more than 0.5 s of wall clock time; --limit wall_seconds=N",
        ),
    ],
)
def test_the_end_of_a_run_shows_the_cause_of_a_failure(tmp_path: Path, code: str, cause: str, message: str) -> None:
    model = ("--planner", "automanual", "--model", write_scripted_model(tmp_path, f"```python\n{code}\n```"))
    task = ("--env", "toy", "--task", "fetch/0", "--limit", "wall_seconds=0.5")
    played = invoke("run", *task, *model, "--out", tmp_path / "run")
    assert f"Not solved, by cause: {cause} 1." in played.printed
    assert f"For example fetch/0: {message}" in played.printed
    assert f"To see why: planbook show {tmp_path / 'run'} failed" in played.printed


def test_an_error_in_a_function_names_the_calling_lines(tmp_path: Path) -> None:
    plan = "def half(x):\n    return 1 / x\n\ndef outer():\n    return half(0)\n\nouter()\n"
    done = execute(plan, tmp_path, "--out", "run")
    assert "line 2: ZeroDivisionError: division by zero" in done.stdout
    assert "called from line 5, from line 7" in done.stdout
    assert "called from line 5, from line 7" in planbook("show", "run", "0", cwd=tmp_path).stdout


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("--env two.py", 2, "two.py has 2 environments: name two.py:One or two.py:Two"),
        ("--env alfworld --split valid_unseen", 3, "or run `alfworld-download`"),
        ("--env alfworld --split valid_seen --seeds 3", 2, "only generated games are made from seeds"),
        ("--env toy --split all:x", 2, "a number of tasks"),
        (f"--env toy --library {ROOT}/manuals/toy", 2, "toy/procedures/*.py"),
        ("--env toy --library mine --types fetch_two", 2, "mine; it has procedures for fetch"),
        ("--env toy --planner code", 2, "code: Field required"),
    ],
)
def test_refusals_name_the_choices(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, code: int, message: str
) -> None:
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    classes = "".join(f"class {name}(Environment):\n    pass\n" for name in ("One", "Two"))
    (tmp_path / "two.py").write_text(f"from planbook.envs import Environment\n{classes}")
    shutil.copytree(ROOT / "manuals/toy", tmp_path / "mine/toy", ignore=shutil.ignore_patterns("fetch_two*"))
    refused = planbook("run", *arguments.split(), cwd=tmp_path)
    assert refused.returncode == code, refused.stderr
    assert message in refused.stderr
    assert "Traceback" not in refused.stderr


@pytest.mark.browser
def test_a_run_without_a_browser_can_be_resumed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANBOOK_CHROMIUM", str(tmp_path / "nothing"))
    command = ("run", "--env", "miniwob", "--task", "click-test/1", "--out", tmp_path / "run")
    finished = planbook(*command)
    assert finished.returncode == 3
    assert f"PLANBOOK_CHROMIUM names {tmp_path}/nothing, which cannot be executed" in finished.stderr
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))
    monkeypatch.delenv("PLANBOOK_CHROMIUM")
    assert "apt-get install chromium" in planbook(*command).stderr
    monkeypatch.undo()
    need_browser()
    assert result(planbook(*command, "--json"))["solved"] == 1


def test_build_and_show_use_the_same_episode_numbers(tmp_path: Path) -> None:
    built = invoke(*BUILD, "--types", "fetch", "--tasks-per-type", 2, "--out", tmp_path / "run")
    numbers = re.findall(r"Episode (\d+), (\S+):", built.printed)
    assert [number for number, _ in numbers] == ["0", "1"]
    for number, task in numbers:
        assert invoke("show", tmp_path / "run", number).stdout.startswith(f"{task}  episode {number}")


@pytest.mark.parametrize("ending", [pytest.param(">/dev/full", marks=pytest.mark.deep), "--json >/dev/full"])
def test_a_full_output_device_is_reported(ending: str) -> None:
    command = f"{sys.executable} -m planbook planners {ending}"
    finished = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True)
    assert finished.returncode == 1
    assert "nothing more can be written" in finished.stderr
    assert "Traceback" not in finished.stderr


def test_a_pipe_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE, text=True) as reader:
        write_atomically(tmp_path / "pipe", "printed")
        assert reader.communicate()[0] == "printed"
    assert (tmp_path / "pipe").is_fifo()
