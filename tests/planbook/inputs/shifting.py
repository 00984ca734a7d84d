"""An environment that tests change between two runs, and helpers for run.json."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.flows import invoke

SHIFTING = '''
import os
from planbook.envs import Environment, Observation, Task, Verdict, action, EnvironmentBroken

class Shifting(Environment):
    name = "shifting"
    types = ("look",)
    splits = ("all",)

    @classmethod
    def tasks(cls, selection, options=None):
        return [Task(id=f"look/{n}", env="shifting", split="all", type="look", goal="look") for n in range(3)]

    def begin(self, task):
        self.looks = 0
        return Observation("A shelf.")

    @action()
    def look(self) -> Observation:
        """Look at the shelf."""
        if os.environ.get("SHIFTING_BROKEN") == self.task.id:
            raise EnvironmentBroken("the shelf fell down")
        self.looks += 1
        there = os.environ.get("SHIFTING", "a mug")
        return Observation(f"You see {there}.", terminated=self.looks == 2 and there != "nothing")

    def versions(self):
        return {"shifting": os.environ.get("SHIFTING_VERSION", "1")}

    def verdict(self):
        solved = self.looks == 2 and os.environ.get("SHIFTING") != "nothing"
        return Verdict(solved, float(solved))
'''
"""An environment whose behaviour depends on environment variables. Runs do not record these."""


def read_run_file(folder: Path) -> Any:
    """Return the content of run.json."""
    return json.loads((folder / "run.json").read_text())


def rewrite(folder: Path, change: Callable[[Any], object]) -> None:
    """Change the content of run.json."""
    file = read_run_file(folder)
    change(file)
    (folder / "run.json").write_text(json.dumps(file))


PLAN = "print(agent.look())\nprint(agent.look())\n"


def play_shifting(folder: Path) -> Path:
    """Play the three tasks of the environment above, and return the folder of the run."""
    (folder / "shifting.py").write_text(SHIFTING)
    (folder / "plan.py").write_text(PLAN)
    invoke("exec", folder / "plan.py", "--env", folder / "shifting.py", "--out", folder / "run")
    return folder / "run"


def play_broken(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Play them so that the second is broken, for a reason that no longer exists. Return the folder of the run."""
    monkeypatch.setenv("SHIFTING_BROKEN", "look/1")
    run = play_shifting(folder)
    monkeypatch.delenv("SHIFTING_BROKEN")
    return run
