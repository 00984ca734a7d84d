"""Helpers for the tests of executors: runs in several processes on an environment that can kill its process."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from planbook.sandbox.process import was_killed
from tests.command import ROOT
from tests.flows import history

TASKS = ("--seeds", "0-5")
ENVIRONMENT = f"{ROOT / 'tests' / 'mortal_toy.py'}:MortalToy"


def command(folder: Path, *more: object, **options: object) -> list[str]:
    """Return the command that plays procedures in tests/mortal_toy.py, an environment that can kill its process.

    Each episode writes the id of its process to a file in ``folder``/begun.
    """
    begun = folder / "begun"
    begun.mkdir(parents=True, exist_ok=True)
    settings = {"folder": begun, **options}
    pairs = [part for name, value in settings.items() for part in ("-o", f"{name}={value}")]
    return ["run", "--env", ENVIRONMENT, *pairs, "--jobs", "4", *map(str, more), "--out", str(folder / "run")]


def start(arguments: list[str]) -> "subprocess.Popen[str]":
    """Start the command in its own process and process group, as a terminal does."""
    return subprocess.Popen(
        [sys.executable, "-m", "planbook", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        process_group=0,
    )


def processes(folder: Path) -> set[int]:
    """Return the ids of the processes in which episodes have begun."""
    return {int(line) for file in (folder / "begun").iterdir() for line in file.read_text().split()}


def wait_until(condition: Callable[[], Any], seconds: float = 60.0, what: str = "it") -> Any:
    """Wait until the condition returns something true, and return it. Fails after ``seconds``."""
    until = time.monotonic() + seconds
    while not (found := condition()):
        assert time.monotonic() < until, f"{what} did not happen"
        time.sleep(0.02)
    return found


def alive(process: int) -> bool:
    """Return whether a process runs; zombies do not count."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False


def children(process: int) -> list[int]:
    """Return the ids of a process's children."""
    return [child.number for child in all_processes() if child.parent == process]


class Process(NamedTuple):
    """A process as listed in /proc."""

    number: int
    parent: int
    command: str


def all_processes() -> list[Process]:
    """Return every process of this machine."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                found.append(Process(int(entry.name), parent, command))
    return found


def kernel_reports_kills() -> bool:
    """Return whether the kernel reports how a process ended even after it was reaped, as Linux does since 6.15."""
    child = os.fork()
    if child == 0:
        signal.pause()
    pidfd = os.pidfd_open(child)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    known = was_killed(pidfd)
    os.close(pidfd)
    return known


def kill(process: int) -> None:
    """Kill a process, as the kernel does when memory runs out."""
    os.kill(process, signal.SIGKILL)


def episodes_of(folder: Path) -> list[tuple[Any, ...]]:
    """Return what happened in the episodes of a run, without times."""
    return [row for row in history(folder / "run") if row[0] != "run"]
