"""The 800 multi-turn tasks of BFCL are played through `module:`, and the verdicts are compared with BFCL's checker."""

import importlib
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from planbook.api import PlayedRun
from tests.command import ROOT
from tests.flows import invoke

pytestmark = pytest.mark.deep
TOOLS = ROOT / "examples" / "tools"
TRUTH = ROOT / "tests" / "own_methods" / "bfcl_truth.py"
INSTALL = [sys.executable, "-m", "pip", "install", "--no-deps", "bfcl-eval", "mpmath"]


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the package but without its dependencies, which cannot be installed together."""
    folder = tmp_path_factory.mktemp("bfcl")
    done = subprocess.run([*INSTALL, "--quiet", "--target", folder], capture_output=True, text=True)
    if done.returncode:
        pytest.skip(f"bfcl-eval cannot be installed here: {done.stderr[-300:]}; {' '.join(INSTALL)}")
    return folder


@pytest.fixture
def truth(packages: Path, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Return the module of the method that plays the ground truth. It imports the adapter for BFCL."""
    for folder in (packages, TOOLS, TRUTH.parent):
        monkeypatch.syspath_prepend(folder)
    return importlib.import_module("bfcl_truth")


def solved(folder: Path, left_out: int, count: int) -> dict[str, bool]:
    """Play ``count`` tasks, and return a dict that maps each task to whether it was solved."""
    importlib.import_module("bfcl").write_tasks(folder / "tasks.json", count)
    options = ("--env", f"module:{TOOLS}/bfcl.py:Apis", "-o", f"tasks={folder}/tasks.json", "--out", folder / "run")
    played = invoke("run", *options, "--planner", f"{TRUTH}:truth", "--planner-option", f"left_out={left_out}")
    assert played.returncode == 0, played.printed
    return {row["task"]: row["solved"] for row in PlayedRun.read(folder / "run").episodes}


@pytest.mark.timeout(1200)
@pytest.mark.parametrize(("left_out", "count"), [(-1, 800), (1, 160)], ids=["the ground truth", "a call left out"])
def test_every_verdict_agrees_with_the_checker_of_bfcl(left_out: int, count: int, truth: Any, tmp_path: Path) -> None:
    checker = importlib.import_module("bfcl_eval.eval_checker.multi_turn_eval.multi_turn_checker")
    valid = {
        id: checker.multi_turn_checker(
            [[calls] for calls in truth.calls_of(id, left_out)], entry["ground_truth"], entry, "", f"left_{left_out}"
        )["valid"]
        for id, entry in list(truth.entries().items())[:: 800 // count]
    }
    assert len(valid) == count
    assert all(valid.values()) is (left_out < 0)
    assert solved(tmp_path, left_out, count) == valid
