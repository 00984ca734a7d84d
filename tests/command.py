"""Run the command line in a separate process, as users do."""

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
import planbook.commands.learning, planbook.commands.exchanging, planbook.commands.rerunning, planbook.learning.stages
from planbook.cli import main

def redirect(path, stream):
    os.dup2(os.open(path, os.O_RDWR | os.O_CREAT), stream)

for line in sys.stdin:
    request = json.loads(line)
    if os.fork() == 0:
        redirect(os.devnull, 0), redirect(request["out"], 1), redirect(request["err"], 2)
        os.chdir(request["cwd"])
        os.environ.clear()
        os.environ.update(request["env"])
        sys.argv = ["planbook", *request["arguments"]]
        sys.exit(main())
    print(os.waitstatus_to_exitcode(os.wait()[1]), flush=True)
"""


class ForkServer:
    """Forks a process for each command from one that has already imported planbook. This halves a command's time."""

    def __init__(self, python: object = sys.executable, env: Mapping[str, str] | None = None) -> None:
        self._python, self._env = str(python), env
        self._streams, self._lock = TemporaryDirectory(), Lock()

    @cached_property
    def _process(self) -> "subprocess.Popen[str]":
        return subprocess.Popen(
            [self._python, "-c", FORKING], env=self._env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def run(self, *arguments: object, cwd: Path, env: Mapping[str, str]) -> "subprocess.CompletedProcess[str]":
        """Run one command in a folder, with only these environment variables."""
        words = [*map(str, arguments)]
        out, err = (Path(self._streams.name) / name for name in ("out", "err"))
        request = {"out": str(out), "err": str(err), "cwd": str(cwd), "env": dict(env), "arguments": words}
        with self._lock:
            for stream in (out, err):
                stream.write_text("")
            requests, exit_codes = self._process.stdin, self._process.stdout
            assert requests is not None
            assert exit_codes is not None
            requests.write(json.dumps(request) + "\n")
            requests.flush()
            code = int(exit_codes.readline())
            return subprocess.CompletedProcess(["planbook", *words], code, out.read_text(), err.read_text())


FORK_SERVER = ForkServer()
"""Runs the commands of this project."""


def planbook(*arguments: object, cwd: Path = ROOT) -> "subprocess.CompletedProcess[str]":
    """Run one command in a folder. Start-up time and terminals are tested in tests/blackbox/test_processes.py."""
    return FORK_SERVER.run(*arguments, cwd=cwd, env=os.environ | {"PYTHONPATH": str(ROOT)})


def result(finished: "subprocess.CompletedProcess[str]") -> Any:
    """Return the JSON object on the last line of standard output."""
    return json.loads(finished.stdout.splitlines()[-1])
