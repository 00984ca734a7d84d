"""Run the command line in a separate process, as a user does."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any

ROOT = Path(__file__).parents[1]
FORKING = """
import json, os, sys
import planbook.commands.building, planbook.commands.exchanging, planbook.commands.rerunning, planbook.learning.stages
from planbook.cli import main

def onto(path, stream):
    os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), stream)

for line in sys.stdin:
    given = json.loads(line)
    if os.fork() == 0:
        onto(os.devnull, 0), onto(given["out"], 1), onto(given["err"], 2)
        os.chdir(given["cwd"])
        os.environ.clear()
        os.environ.update(given["env"])
        sys.argv = ["planbook", *given["arguments"]]
        sys.exit(main())
    print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
"""


class ForkServer:
    """Runs commands in children of one process that has imported planbook, which halves their time."""

    def __init__(self, python: object = sys.executable, env: Mapping[str, str] | None = None) -> None:
        self._python, self._env = str(python), env
        self._streams, self._lock = TemporaryDirectory(), Lock()

    @cached_property
    def _process(self) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [self._python, "-c", FORKING], env=self._env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, *arguments: object, cwd: Path, env: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
        """Run one command in a folder, with these environment variables only."""
        words = [*map(str, arguments)]
        out, err = (Path(self._streams.name) / name for name in ("out", "err"))
        given = {"out": str(out), "err": str(err), "cwd": str(cwd), "env": dict(env), "arguments": words}
        with self._lock:
            for stream in (out, err):
                stream.write_text("")
            asked, answered = self._process.stdin, self._process.stdout
            assert asked is not None
            assert answered is not None
            asked.write(json.dumps(given) + "\n")
            asked.flush()
            code = int(answered.readline())
            return subprocess.CompletedProcess(["planbook", *words], code, out.read_text(), err.read_text())


HERE = ForkServer()
"""Runs this project's commands."""


def planbook(*arguments: object, cwd: Path = ROOT) -> "subprocess.CompletedProcess[str]":
    """Run one command in a folder. Start-up time and terminals are tested in tests/blackbox/test_processes.py."""
    return HERE.run(*arguments, cwd=cwd, env=os.environ | {"PYTHONPATH": str(ROOT)})


def result(finished: "subprocess.CompletedProcess[str]") -> Any:
    """Return the JSON object on the last line of standard output."""
    return json.loads(finished.stdout.splitlines()[-1])
