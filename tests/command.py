"""The command line in a process of its own, as its user starts it."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[1]


def planbook(*arguments: object, cwd: Path = ROOT) -> "subprocess.CompletedProcess[str]":
    """Run one command from a folder."""
    command = [sys.executable, "-m", "planbook", *map(str, arguments)]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=180)


def result(finished: "subprocess.CompletedProcess[str]") -> Any:
    """The object that ends standard output."""
    return json.loads(finished.stdout.splitlines()[-1])
