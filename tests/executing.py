"""What the tests of executors have in common: a run on an environment that can kill, in several processes."""

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
    """Procedures on the mortal toy environment; what episodes leave of their processes goes to ``folder``/begun."""
    begun = folder / "begun"
    begun.mkdir(parents=True, exist_ok=True)
    given = {"folder": begun, **options}
    pairs = [part for name, value in given.items() for part in ("-o", f"{name}={value}")]
    return ["replay", "--env", ENVIRONMENT, *pairs, "--jobs", "4", *map(str, more), "--out", str(folder / "run")]


def start(arguments: list[str]) -> "subprocess.Popen[str]":
    """The command in a process of its own, and in a process group of its own, as a terminal starts it."""
    return subprocess.Popen(
        [sys.executable, "-m", "planbook", *arguments],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        process_group=0,
    )


def processes(folder: Path) -> set[int]:
    """The processes in which episodes have begun."""
    return {int(line) for file in (folder / "begun").iterdir() for line in file.read_text().split()}


def wait_until(true: Callable[[], Any], seconds: float = 60.0, what: str = "it") -> Any:
    """Wait for something that comes by itself, and return it. Fails where it does not come."""
    until = time.monotonic() + seconds
    while not (found := true()):
        assert time.monotonic() < until, f"{what} did not come about"
        time.sleep(0.02)
    return found


def alive(process: int) -> bool:
    """Whether a process runs; one that only waits to be reaped does not."""
    try:
        return "\nState:\tZ" not in Path(f"/proc/{process}/status").read_text()
    except OSError:
        return False


def children(process: int) -> list[int]:
    """The processes that a process has started."""
    return [each.number for each in all_processes() if each.parent == process]


class Process(NamedTuple):
    """A process as /proc shows it."""

    number: int
    parent: int
    command: str


def all_processes() -> list[Process]:
    """Every process of this machine."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                found.append(Process(int(entry.name), parent, command))
    return found


def kernel_tells() -> bool:
    """Return whether the kernel says how a process ended that is not a child: Linux does from 6.15 on."""
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
    """As the kernel does it when memory is short."""
    os.kill(process, signal.SIGKILL)


def episodes_of(folder: Path) -> list[tuple[Any, ...]]:
    """What happened in the episodes of the run in a folder, without times."""
    return [row for row in history(folder / "run") if row[0] != "run"]
