"""What a terminal shows and cannot show, what a check in CI needs, and messages that say once what there is."""

import os
import re
import subprocess
import sys
from io import StringIO
from pathlib import Path

import pytest
from rich.console import Console

from planbook.console import right_aligned
from planbook.writing import write_whole
from tests.browser import need_browser
from tests.command import ROOT, planbook, result
from tests.flows import BUILD, here, saying
from tests.shelf import write_shelf

EXEC = "exec plan.py --env shelf.py --task look/0".split()


def executed(folder: Path, *more: str) -> "subprocess.CompletedProcess[str]":
    return planbook(*EXEC, *more, cwd=folder)


@pytest.mark.parametrize(
    ("encoding", "more"),
    [("latin-1", ("--json",)), ("ascii:strict", ()), pytest.param("ascii", (), marks=pytest.mark.deep)],
)
def test_a_terminal_that_cannot_show_a_letter_shows_an_escape(tmp_path: Path, encoding: str, more: tuple[str]) -> None:
    write_shelf(tmp_path)
    (tmp_path / "plan.py").write_text("print('caf\\u00e9 \\u2192')\nagent.look()\n")
    env = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": encoding}
    command = [sys.executable, "-m", "planbook", *EXEC, *more]
    done = subprocess.run(command, cwd=tmp_path, env=env, capture_output=True, encoding="utf-8", errors="replace")
    assert done.returncode == 0, done.stderr
    assert "\\u2192" in done.stdout + done.stderr


def test_prints_stand_between_the_steps_and_steer_no_terminal(tmp_path: Path) -> None:
    write_shelf(tmp_path)
    (tmp_path / "plan.py").write_text("print('first :key: [red]\\x1b[31m')\nprint('x' * 50_000)\nagent.look()\n")
    done = executed(tmp_path)
    assert done.stdout.index("printed: first :key: [red]\\x1b[31m") < done.stdout.index("agent.look")
    assert "\x1b" not in done.stdout
    assert "48,024 characters more" in done.stdout


def test_an_empty_store_is_reported_in_a_line(tmp_path: Path) -> None:
    write_shelf(tmp_path)
    (tmp_path / "plan.py").write_text("agent.look()\n")
    assert executed(tmp_path, "--out", "run").returncode == 0
    for file in (tmp_path / "run").glob("run.db*"):
        file.unlink()
    (tmp_path / "run" / "run.db").write_bytes(b"")
    for refused in (executed(tmp_path, "--out", "run"), planbook("show", "run", "0", cwd=tmp_path)):
        assert refused.returncode == 2
        assert "run.db cannot be read as a run's store: it is empty" in refused.stderr.replace("\n", " ")
        assert "Traceback" not in refused.stderr


def test_a_misspelt_name_is_held_against_the_plans_own_names_first(tmp_path: Path) -> None:
    write_shelf(tmp_path)
    (tmp_path / "plan.py").write_text("agnet.look()\n")
    refused = executed(tmp_path)
    assert refused.returncode == 2
    assert "did you mean agent?" in refused.stderr + refused.stdout


def test_narrow_tables_cut_no_figure_off_and_fold_no_name() -> None:
    table = right_aligned("task type", ("solved", "tasks", "%", "95 % interval", "mean actions", "mean error steps"))
    table.add_row("pick_two_obj_and_place", "5", "12", "100.0%", "56.6% to 100.0%", "13.6", "0.00")
    out = Console(width=80, file=StringIO(), legacy_windows=False)
    out.print(table)
    assert isinstance(out.file, StringIO)
    lines = out.file.getvalue().splitlines()
    assert all(len(line) <= 80 for line in lines)
    (row,) = [line for line in lines if "pick_two_obj_and_place" in line]
    assert row.split()[1:] == ["5", "12", "100.0%", "56.6\N{EN DASH}100.0%", "13.6", "0.00"]


def test_a_table_that_no_terminal_of_the_width_has_room_for_is_a_list() -> None:
    table = right_aligned("building\ntasks", [f"figure {number}" for number in range(12)], title="a curve")
    table.add_row("6", *["207,425"] * 12)
    out = Console(width=60, file=StringIO(), legacy_windows=False)
    out.print(table)
    assert isinstance(out.file, StringIO)
    printed = " ".join(out.file.getvalue().split())
    assert printed.startswith("a curve building tasks 6: figure 0 207,425; figure 1 207,425;")
    assert all(len(line) <= 60 for line in out.file.getvalue().splitlines())


def test_the_reason_of_a_failure_is_reported_at_the_end_of_a_run(tmp_path: Path) -> None:
    failing = saying(tmp_path, "```python\nprint(0)\n1 / 0\n```")
    model = ("--planner", "automanual", "--model", failing, "--out", tmp_path / "run")
    played = here("run", "--env", "toy", "--seeds", "0-1", "--types", "fetch", *model)
    assert "Not solved, by cause: raised 2." in played.printed
    assert "For example fetch/0 (0): line 2: ZeroDivisionError: division by zero" in played.printed
    assert f"To see why: planbook show {tmp_path / 'run'} failed" in played.printed


def test_an_error_in_a_function_names_the_lines_that_led_to_it(tmp_path: Path) -> None:
    write_shelf(tmp_path)
    plan = "def half(x):\n    return 1 / x\n\ndef outer():\n    return half(0)\n\nouter()\n"
    (tmp_path / "plan.py").write_text(plan)
    done = executed(tmp_path, "--out", "run")
    assert "line 2: ZeroDivisionError: division by zero" in done.stdout
    assert "called from line 5, from line 7" in done.stdout
    assert "called from line 5, from line 7" in planbook("show", "run", "0", cwd=tmp_path).stdout


def test_a_limit_names_the_option_that_changes_it(tmp_path: Path) -> None:
    endless = saying(tmp_path, "```python\nwhile True:\n    pass\n```")
    model = ("--planner", "automanual", "--model", endless, "--out", tmp_path / "run")
    played = here("run", "--env", "toy", "--task", "fetch/0", "--limit", "wall_seconds=0.5", *model)
    assert (
        "For example fetch/0: wall: the cell ran for more than 0.5 s of wall clock; --limit wall_seconds=N"
        in played.printed
    )


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("--env toy --limit wall=3", 2, "there is no limit `wall`; there are wall_seconds, cpu_seconds"),
        ("--env two.py", 2, "two.py has 2 environments: name two.py:One or two.py:Two"),
        ("--env alfworld --split valid_unseen", 3, "alfworld-download"),
        ("--env alfworld --split valid_unseen", 3, "made from seeds instead, --split generated; or run"),
        ("--env alfworld --split valid_seen --seeds 3", 2, "seeds make generated games"),
        ("--env toy --split all:x", 2, "a number of tasks"),
        (f"--env toy --library {ROOT}/manuals/toy", 2, "toy/procedures/*.py"),
        ("--env toy --planner code", 2, "code: this has to be given"),
    ],
)
def test_refusals_say_once_what_there_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, arguments: str, code: int, message: str
) -> None:
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    classes = "".join(f"class {name}(Environment):\n    pass\n" for name in ("One", "Two"))
    (tmp_path / "two.py").write_text(f"from planbook.envs import Environment\n{classes}")
    refused = planbook("run", *arguments.split(), cwd=tmp_path)
    assert refused.returncode == code, refused.stderr
    assert message in refused.stderr
    assert refused.stderr.count("cpu_seconds") <= 1
    assert "Traceback" not in refused.stderr


@pytest.mark.browser
def test_a_missing_browser_exits_with_three_and_the_run_can_be_resumed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MINIWOB_CHROME_BINARY", str(tmp_path / "nothing"))
    command = ("run", "--env", "miniwob", "--task", "click-test/1", "--out", tmp_path / "run")
    finished = planbook(*command)
    assert finished.returncode == 3
    assert "apt-get install chromium" in finished.stderr
    monkeypatch.delenv("MINIWOB_CHROME_BINARY")
    need_browser()
    assert result(planbook(*command, "--json"))["solved"] == 1


def test_episodes_have_one_number(tmp_path: Path) -> None:
    built = here(*BUILD, "--types", "fetch", "--tasks-per-type", 2, "--out", tmp_path / "run")
    numbers = re.findall(r"Episode (\d+), (\S+):", built.printed)
    assert [number for number, _ in numbers] == ["0", "1"]
    for number, task in numbers:
        assert here("show", tmp_path / "run", number).stdout.startswith(f"{task}  episode {number}")
    assert "give a number from 0 to 1" in here("show", tmp_path / "run", 2).printed


@pytest.mark.parametrize("ending", [pytest.param(">/dev/full", marks=pytest.mark.deep), "--json >/dev/full"])
def test_an_output_that_is_full_is_reported_without_a_traceback(ending: str) -> None:
    command = f"{sys.executable} -m planbook planners {ending}"
    finished = subprocess.run(["/bin/sh", "-c", command], capture_output=True, text=True)
    assert finished.returncode == 1
    assert "nothing more can be written" in finished.stderr
    assert "Traceback" not in finished.stderr


def test_a_device_is_written_to_and_not_replaced(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with subprocess.Popen(["cat", tmp_path / "pipe"], stdout=subprocess.PIPE, text=True) as reader:
        write_whole(tmp_path / "pipe", "printed")
        assert reader.communicate()[0] == "printed"
    assert (tmp_path / "pipe").is_fifo()
