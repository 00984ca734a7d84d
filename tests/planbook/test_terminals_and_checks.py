"""What a terminal cannot show, what a check in CI needs, and a store that is empty."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.command import ROOT, planbook
from tests.shelf import write_shelf


def executed(folder: Path, *more: str, encoding: str = "utf-8") -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-m", "planbook", "exec", "plan.py", "--env", "shelf.py", "--task", "look/0", *more]
    env = os.environ | {"PYTHONPATH": str(ROOT), "PYTHONIOENCODING": encoding}
    return subprocess.run(command, cwd=folder, env=env, capture_output=True, encoding="utf-8", errors="replace")


@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "ascii:strict"])
@pytest.mark.parametrize("more", [(), ("--json",)])
def test_a_terminal_that_cannot_show_a_letter_shows_an_escape(tmp_path: Path, encoding: str, more: tuple[str]) -> None:
    write_shelf(tmp_path)
    (tmp_path / "plan.py").write_text("print('caf\\u00e9 \\u2192')\nagent.look()\n")
    done = executed(tmp_path, *more, encoding=encoding)
    assert done.returncode == 0, done.stderr
    assert "\\u2192" in done.stdout + done.stderr


def test_strict_fails_where_a_task_was_not_solved(tmp_path: Path) -> None:
    write_shelf(tmp_path, looks=2)
    (tmp_path / "plan.py").write_text("agent.look()\n")
    assert executed(tmp_path).returncode == 0
    assert executed(tmp_path, "--strict").returncode == 1
    (tmp_path / "plan.py").write_text("agent.look()\nagent.look()\n")
    assert executed(tmp_path, "--strict").returncode == 0


def test_an_empty_store_is_told_in_a_line(tmp_path: Path) -> None:
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
