"""The command line in a process of its own, as its user starts it."""

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Self

ROOT = Path(__file__).parents[1]
FORKING = """
import json, os, sys
import planbook.command_line, planbook.commands.playing, planbook.sandbox
from planbook.cli import main

def onto(path, stream):
    os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), stream)

for line in sys.stdin:
    out, err, *arguments = json.loads(line)
    if os.fork() == 0:
        onto(os.devnull, 0), onto(out, 1), onto(err, 2)
        sys.argv = ["planbook", *arguments]
        main()
    print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
"""


def planbook(*arguments: object, cwd: Path = ROOT) -> "subprocess.CompletedProcess[str]":
    """Run one command from a folder."""
    command = [sys.executable, "-m", "planbook", *map(str, arguments)]
    env = os.environ | {"PYTHONPATH": str(ROOT)}
    return subprocess.run(command, cwd=cwd, env=env, capture_output=True, text=True, timeout=180)


def result(finished: "subprocess.CompletedProcess[str]") -> Any:
    """The object that ends standard output."""
    return json.loads(finished.stdout.splitlines()[-1])


class Forking:
    """Commands of one folder, each in a child of one process that has imported planbook: half the time of a start."""

    def __init__(self, cwd: Path, env: Mapping[str, str], python: object = sys.executable) -> None:
        self._streams = TemporaryDirectory()
        self._cwd, self._env, self._python = cwd, env, str(python)

    @cached_property
    def _process(self) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [self._python, "-c", FORKING],
            cwd=self._cwd,
            env=self._env,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def run(self, *arguments: object) -> "subprocess.CompletedProcess[str]":
        """Run one command."""
        out, err = (Path(self._streams.name) / name for name in ("out", "err"))
        for stream in (out, err):
            stream.write_text("")
        asked, answered = self._process.stdin, self._process.stdout
        assert asked is not None
        assert answered is not None
        asked.write(json.dumps([*map(str, (out, err, *arguments))]) + "\n")
        asked.flush()
        code = int(answered.readline())
        return subprocess.CompletedProcess(["planbook", *map(str, arguments)], code, out.read_text(), err.read_text())

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if "_process" in vars(self):
            self._process.communicate(timeout=30)
        self._streams.cleanup()
