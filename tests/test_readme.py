"""The README's examples do what it says."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
README = (ROOT / "README.md").read_text(encoding="utf-8")
BLOCKS = re.findall(r"^```(\w+)\n(.*?)^```$", README, re.MULTILINE | re.DOTALL)


def block(beginning: str) -> str:
    """The one code block that begins so."""
    (found,) = [code for _, code in BLOCKS if code.startswith(beginning)]
    return str(found)


def run(*command: str, cwd: Path) -> str:
    done = subprocess.run(
        [sys.executable, *command], cwd=cwd, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, timeout=120
    )
    assert "Traceback" not in done.stderr, done.stderr
    return done.stdout


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """An empty folder with the README's files."""
    (tmp_path / "plan.py").write_text(block("# plan.py"))
    (tmp_path / "lights.py").write_text(block("# lights.py"))
    (tmp_path / "trip.yaml").write_text(block("# trip.yaml"))
    return tmp_path


def test_the_faulty_plan_is_told_as_shown(folder: Path) -> None:
    command, _, shown = block("$ planbook check").partition("\n")
    assert run("-m", *command.removeprefix("$ ").split(), cwd=folder) == shown


def test_the_graph_is_checked_as_shown(folder: Path) -> None:
    command, _, shown = block("$ planbook graph check").partition("\n")
    printed = run("-m", *command.removeprefix("$ ").split(), cwd=folder)
    assert shown.partition("$ ")[0] == printed


def test_the_graph_runs_as_shown(folder: Path) -> None:
    (folder / "script.py").write_text("replies = ['Yes.', 'heavy', 'A coat.']\n")
    (command,) = [
        line for line in block("$ planbook graph check").splitlines() if line.startswith("$ planbook graph run")
    ]
    words = [word.replace("openai:NAME", "scripted:script.py:replies") for word in shlex.split(command)[1:]]
    assert run("-m", *words, cwd=folder) == "A coat.\n"


def test_the_mended_plan_runs_as_shown(folder: Path) -> None:
    mended = (folder / "plan.py").read_text().replace("import os\n", "").replace(".take(", ".take_from(")
    (folder / "plan.py").write_text(
        mended.replace("heat_with(agent.holding)", 'heat_with(agent.holding, "microwave_1")')
    )
    command, _, shown = block("$ planbook exec").partition("\n")
    printed = run("-m", *command.removeprefix("$ ").split(), cwd=folder).splitlines()
    assert [line for line in shown.splitlines() if line != "..." and line not in printed] == []


def test_the_world_in_one_file_can_be_played(folder: Path) -> None:
    (folder / "press.py").write_text("for lamp in (1, 2, 3):\n    agent.press(lamp)\n")
    printed = run("-m", "planbook", "exec", "press.py", "--env", "lights.py", cwd=folder)
    assert "line 2: agent.press(1) -> Lit: [1, 2, 3]." in printed
    assert len(block("# lights.py").splitlines()) <= 31


def test_the_sandbox_by_itself_prints_what_is_shown(folder: Path) -> None:
    (folder / "alone.py").write_text(block("from planbook.sandbox import"))
    assert run("alone.py", cwd=folder) == block("2\nline 1")


def test_runs_are_compared_as_shown(folder: Path) -> None:
    *commands, _ = shown = block("$ planbook run --env alfworld --split generated:60 --out runs/a").splitlines()
    for command in [line for line in commands if line.startswith("$ ")]:
        told = run("-m", *command.removeprefix("$ ").split(), cwd=folder)
    for line in [line for line in shown if not line.startswith(("$", "..."))]:
        assert line in told, line
