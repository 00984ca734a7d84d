"""kill -9 at any moment: after going on, the store equals that of an undisturbed run."""

import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from planbook.run import Run
from planner import Body

ROOT = Path(__file__).parents[2]
TASKS = ("--env", "toy", "--seeds", "0-19", "--jobs", "2")


Events = list[tuple[str, str, int, Body]]


def command(out: Path) -> list[str]:
    return [sys.executable, "-m", "planbook", "run", *TASKS, "--out", str(out)]


def events(folder: Path) -> Events:
    run = Run.open(folder)
    found = [(row.scope, row.kind, row.n, row.body) for row in run.store.events()]
    run.close()
    return sorted(found, key=lambda row: row[:3])


@pytest.fixture(scope="module")
def undisturbed(
    tmp_path_factory: pytest.TempPathFactory,
) -> tuple[Events, float]:
    folder = tmp_path_factory.mktemp("undisturbed") / "run"
    begun = time.monotonic()
    subprocess.run(command(folder), cwd=ROOT, check=True, capture_output=True)
    return events(folder), time.monotonic() - begun


@pytest.mark.parametrize("seed", range(4))
def test_killed_runs_end_as_undisturbed_ones(tmp_path: Path, undisturbed: tuple[Events, float], seed: int) -> None:
    expected, seconds = undisturbed
    dice = random.Random(seed)
    for _ in range(2):
        running = subprocess.Popen(
            command(tmp_path / "run"), cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
        )
        time.sleep(dice.uniform(0.1, seconds))
        running.send_signal(signal.SIGKILL)
        running.communicate()
    finished = subprocess.run(command(tmp_path / "run"), cwd=ROOT, capture_output=True, text=True)
    assert finished.returncode == 0, finished.stderr
    assert events(tmp_path / "run") == expected
