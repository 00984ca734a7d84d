"""The command line as its user meets it: real processes, the toy world, exit codes and JSON."""

import json
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.browser import need_browser
from tests.command import ROOT, planbook, result

PLAN = 'import re\nfor box in re.findall(r"box_\\d+", task.observation):\n    print(agent.open(box))\n'


def endings(folder: Path) -> int:
    """How many episodes of a run that may be going on have ended."""
    if not (folder / "run.json").exists():
        return 0
    with sqlite3.connect(folder / "run.db") as raw:
        return int(raw.execute("select count(*) from event where kind = 'outcome'").fetchone()[0])


def test_run_ends_with_one_json_object(tmp_path: Path) -> None:
    finished = planbook("run", "--env", "toy", "--seeds", "0-9", "--jobs", "2", "--out", tmp_path / "run", "--json")
    assert finished.returncode == 0, finished.stderr
    summary = result(finished)
    assert (summary["tasks"], summary["solved"]) == (20, 20)
    assert summary["by_type"] == {"fetch": [10, 10], "fetch_two": [10, 10]}
    assert summary["failures"] == {}
    assert len(finished.stdout.splitlines()) == 1
    assert "95 % interval" in finished.stderr
    config = json.loads((tmp_path / "run" / "run.json").read_text())
    assert config["config"]["actions"] == 30
    assert config["versions"]["RestrictedPython"] == "9.0"


def test_the_same_command_goes_on_and_another_is_refused(tmp_path: Path) -> None:
    command = ("run", "--env", "toy", "--out", tmp_path / "run", "--json")
    first, again = planbook(*command), planbook(*command)
    assert result(first)["solved"] == result(again)["solved"] == 10
    other = planbook(*command, "--seeds", "7")
    assert other.returncode == 2
    assert "holds another run" in other.stderr
    assert "seeds" in other.stderr


def test_a_recorded_run_replays_without_divergence(tmp_path: Path) -> None:
    planbook("run", "--env", "toy", "--out", tmp_path / "run")
    finished = planbook("replay", tmp_path / "run", "--json")
    assert finished.returncode == 0
    assert result(finished)["by_sameness"]["same"] == 10


def test_exec_prints_the_steps_as_they_happen(tmp_path: Path) -> None:
    plan = tmp_path / "plan.py"
    plan.write_text(PLAN)
    finished = planbook("exec", plan, "--env", "toy", "--task", "fetch/1", "--out", tmp_path / "run")
    assert finished.returncode == 0
    assert "line 3: agent.open('box_1') -> You open box_1." in finished.stdout
    assert "failure (unfinished) after" in finished.stdout


def test_exec_of_a_procedure_calls_solve(tmp_path: Path) -> None:
    procedure = ROOT / "manuals" / "toy" / "procedures" / "fetch.py"
    finished = planbook("exec", procedure, "--env", "toy", "--task", "fetch/1", "--out", tmp_path / "run", "--json")
    assert result(finished)["solved"] == 1


def test_exec_refuses_a_plan_that_does_not_pass_the_check(tmp_path: Path) -> None:
    plan = tmp_path / "plan.py"
    plan.write_text("agent.fly()\n")
    finished = planbook("exec", plan, "--env", "toy", "--out", tmp_path / "run", "--json")
    assert finished.returncode == 2
    assert [fault["line"] for fault in result(finished)["faults"]] == [1]
    assert not (tmp_path / "run").exists()


def test_prints_stand_between_the_steps_and_steer_no_terminal(tmp_path: Path) -> None:
    plan = tmp_path / "plan.py"
    plan.write_text("print('first :key: [red]\\x1b[31m')\nagent.open('box_1')\nprint('x' * 50_000)\n")
    finished = planbook("exec", plan, "--env", "toy", "--task", "fetch/0", "--out", tmp_path / "run")
    printed, opened = finished.stdout.index("printed: first :key: [red]\\x1b[31m"), finished.stdout.index("agent.open")
    assert printed < opened
    assert "\x1b" not in finished.stdout
    assert "48,001 characters more" in finished.stdout


def test_errors_are_json_too_where_json_is_asked_for() -> None:
    finished = planbook("run", "--env", "nethack", "--json")
    assert finished.returncode == 2
    assert "nethack" in result(finished)["error"]


def test_selections_hold_for_a_world_that_does_not_look_at_them(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text()
    (tmp_path / "lights.py").write_text(readme[readme.index("# lights.py") :].partition("```")[0])
    plan = tmp_path / "plan.py"
    plan.write_text("agent.press(1)\n")
    given = ("exec", plan, "--env", tmp_path / "lights.py", "--json")
    assert result(planbook(*given, "--task", "lamp/2", "--out", tmp_path / "a"))["tasks"] == 1
    assert result(planbook(*given, "--split", "all:2", "--out", tmp_path / "b"))["tasks"] == 2
    for wrong in (("--split", "nope"), ("--types", "nope"), ("--task", "lamp/99")):
        assert planbook(*given, *wrong).returncode == 2


def test_check_lists_every_fault_with_its_line(tmp_path: Path) -> None:
    plan = tmp_path / "plan.py"
    plan.write_text("agent.opne('box_1')\nagent.take('key')\nimport os\nprint(undefined)\n")
    finished = planbook("check", plan, "--env", "toy", "--json")
    assert finished.returncode == 2
    assert [fault["line"] for fault in result(finished)["faults"]] == [1, 2, 3, 4]
    assert "did you mean agent.open?" in finished.stderr
    plan.write_text(PLAN)
    assert planbook("check", plan, "--env", "toy", "--task", "fetch/3").returncode == 0


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("run",), 2, "name an environment with --env"),
        (("run", "--env", "nethack"), 2, "there are alfworld, "),
        (("run", "--env", "toy", "--types", "steal"), 2, "it has fetch, fetch_two"),
        (("run", "--env", "toy", "--split", "test"), 2, "it has all"),
        (("run", "--env", "toy", "--split", "all:x"), 2, "a number of tasks"),
        (("run", "--env", "toy", "--seeds", "1-x"), 2, "write a number"),
        (("run", "--env", "toy", "--seeds", "5-2"), 2, "write 2-5"),
        (("run", "--env", "toy", "--library", "manuals/toy"), 2, "toy/procedures/*.py"),
        (("run", "--env", "toy", "--out", "README.md"), 2, "cannot hold a run"),
        (("run", "--env", "alfworld", "--split", "valid_seen", "--seeds", "3"), 2, "seeds make generated games"),
        (("run", "--env", "toy", "--planner", "code"), 2, "code: this has to be given"),
        (("replay", "envs", "--env", "toy"), 2, "leave out --env"),
        (("run", "--resume", "envs", "--actions", "3", "--task", "x"), 2, "leave out"),
        (("run", "--env", "toy", "-o", "engine=fast"), 2, "Options: none"),
        (("run", "--env", "toy", "--limit", "wall_seconds=-1"), 2, "wall_seconds"),
        (("run", "--env", "toy", "--planner", "magic"), 2, "there are adapt, agentkit, automanual, "),
        (("run", "--env", "toy", "--task", "fetch"), 2, "TYPE/SEED"),
        (("replay", "."), 2, "holds no run"),
        (("check", "README.md", "--env", "toy"), 2, "fault"),
        (("exec", "missing.py", "--env", "toy"), 2, "does not exist"),
    ],
)
def test_bad_input_is_told_in_one_line(tmp_path: Path, arguments: tuple[str, ...], code: int, message: str) -> None:
    finished = planbook(*arguments)
    assert finished.returncode == code, finished.stderr
    assert message in finished.stderr + finished.stdout
    assert "Traceback" not in finished.stderr


def test_missing_games_exit_with_three(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALFWORLD_DATA", str(tmp_path))
    finished = planbook("run", "--env", "alfworld", "--split", "valid_unseen")
    assert finished.returncode == 3
    assert "alfworld-download" in finished.stderr


def test_a_missing_browser_exits_with_three_and_the_run_goes_on_later(
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


def test_ctrl_c_stops_the_run_and_loses_nothing(tmp_path: Path) -> None:
    command = [
        sys.executable,
        "-m",
        "planbook",
        "run",
        "--env",
        "toy",
        "--seeds",
        "0-99",
        "--out",
        str(tmp_path / "run"),
    ]
    running = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    while not endings(tmp_path / "run"):
        assert running.poll() is None
        time.sleep(0.02)
    running.send_signal(signal.SIGINT)
    output, errors = running.communicate(timeout=30)
    assert running.returncode == 130, errors
    assert "Resume with: planbook run --resume" in output
    assert "not run" in output
    assert result(planbook("run", "--resume", tmp_path / "run", "--json"))["solved"] == 200


def test_repeats_are_told_apart(tmp_path: Path) -> None:
    command = ("run", "--env", "toy", "--task", "fetch/0", "--repeats", "3", "--out", tmp_path / "run", "--json")
    summary = result(planbook(*command))
    assert summary["solved_by_repeat"] == [1, 1, 1]
