"""The command line as its user meets it: real processes, the toy environment, exit codes and JSON."""

from pathlib import Path

import pytest

from tests.browser import need_browser
from tests.command import ROOT, planbook, result


def test_prints_stand_between_the_steps_and_steer_no_terminal(tmp_path: Path) -> None:
    plan = tmp_path / "plan.py"
    plan.write_text("print('first :key: [red]\\x1b[31m')\nagent.open('box_1')\nprint('x' * 50_000)\n")
    finished = planbook("exec", plan, "--env", "toy", "--task", "fetch/0", "--out", tmp_path / "run")
    printed, opened = finished.stdout.index("printed: first :key: [red]\\x1b[31m"), finished.stdout.index("agent.open")
    assert printed < opened
    assert "\x1b" not in finished.stdout
    assert "48,001 characters more" in finished.stdout


def test_selections_hold_for_an_environment_that_does_not_look_at_them(tmp_path: Path) -> None:
    readme = (ROOT / "README.md").read_text()
    (tmp_path / "lights.py").write_text(readme[readme.index("# lights.py") :].partition("```")[0])
    plan = tmp_path / "plan.py"
    plan.write_text("agent.press(1)\n")
    given = ("exec", plan, "--env", tmp_path / "lights.py", "--json")
    assert result(planbook(*given, "--task", "lamp/2", "--out", tmp_path / "a"))["tasks"] == 1
    assert result(planbook(*given, "--split", "all:2", "--out", tmp_path / "b"))["tasks"] == 2
    for wrong in (("--split", "nope"), ("--types", "nope"), ("--task", "lamp/99")):
        assert planbook(*given, *wrong).returncode == 2


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("run", "--env", "toy", "--split", "all:x"), 2, "a number of tasks"),
        (("run", "--env", "toy", "--library", "manuals/toy"), 2, "toy/procedures/*.py"),
        (("run", "--env", "alfworld", "--split", "valid_seen", "--seeds", "3"), 2, "seeds make generated games"),
        (("run", "--env", "toy", "--planner", "code"), 2, "code: this has to be given"),
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
