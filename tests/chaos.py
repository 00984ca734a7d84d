"""kill -9 at random moments: a run played through the command line, and somebody of its family is hit, again and again.

PLANBOOK_KILLS says how many moments each test survives instead of its own number, and PLANBOOK_KILLS_SEED which ones:

PLANBOOK_KILLS=100 PLANBOOK_KILLS_SEED=7 pytest -n 0 tests/planbook/test_killed_at_random.py
"""

import os
import random
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from planbook.sandbox.losses import KILLS
from tests.command import ROOT
from tests.executing import kill
from tests.killing import kernel_tells

SEED = int(os.environ.get("PLANBOOK_KILLS_SEED", "0"))
DRIVER, SANDBOXED = "driver", "sandbox worker"
LOSSES = 2
"""How many of a family are lost before its driver is the next: three workers that die of one episode are its fault."""
MOST_SANDBOXED = KILLS - 1 if kernel_tells() else 1
"""How many of a driver's sandbox workers are hit: so many may die at one place of a plan without anybody's fault."""
EARLY = 0.2
"""How often a driver's beginning counts, when nobody is there but itself."""
PATIENCE_SECONDS = 150
"""How long a driver may go on after the last blow."""
MARKS: Mapping[str, str] = {
    "planbook.workers.pool": "worker",
    "planbook.sandbox.worker.zygote": "zygote",
    "ray::RemoteTask": "actor",
    "ray::": "Ray's worker",
    "gcs_server": "gcs",
    "raylet/raylet": "raylet",
    "log_monitor.py": "log monitor",
    "monitor.py": "monitor",
    "dashboard": "dashboard",
    "postgres: ": "backend",
}
"""What the command line of a process holds, and what it then is; the first that fits."""


def number_of_kills(usual: int) -> int:
    """How many moments a test survives."""
    return int(os.environ.get("PLANBOOK_KILLS", usual))


class Process(NamedTuple):
    """A process as /proc shows it."""

    number: int
    parent: int
    command: str


class Blow(NamedTuple):
    """Who was hit, in the how-manieth life of the driver, and how many seconds after its beginning."""

    what: str
    process: int
    life: int
    after: float

    def __str__(self) -> str:
        return f"{self.what} {self.process} of life {self.life}, {self.after:.2f} s after its beginning"


@dataclass
class Lives:
    """One run, played by one driver after the other until one of them ends with 0.

    ``more`` are the roots of further families, such as a cluster's or a database's, of which the kinds ``more_kinds``
    may be hit as well. After a blow to one of the kinds ``waits`` a driver may end by itself again, until what was hit
    has recovered.
    """

    command: Sequence[str]
    said: Path
    dice: random.Random
    env: Mapping[str, str] = field(default_factory=dict)
    more: Sequence[int] = ()
    more_kinds: frozenset[str] = frozenset()
    waits: frozenset[str] = frozenset()
    within: float = 1.6
    """Seconds from a driver's beginning, or from one blow, to the next: any moment up to that."""
    blows: list[Blow] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)

    def survive(self, kills: int) -> None:
        """Hit at most so many times. Fails where a driver that nobody hit does not end with 0."""
        while 0 not in self.codes:
            before = len(self.blows)
            self.codes.append(self._live(kills))
            struck = self.blows[before:]
            recovering = any(blow.what in self.waits for blow in self.blows[-2:])
            assert self.codes[-1] == 0 or struck or recovering, self.told()
            assert len(self.codes) <= kills + 40, self.told()

    def told(self) -> str:
        """What happened, for whoever looks at a failure."""
        blows = "\n".join(map(str, self.blows))
        return f"drivers ended with {self.codes}; killed were\n{blows}\nThe drivers said:\n{self.said.read_text()}"

    def _live(self, kills: int) -> int:
        begun = time.monotonic()
        with self.said.open("a") as said:
            driver = subprocess.Popen(
                [sys.executable, "-m", "planbook", *self.command],
                cwd=ROOT,
                env={**os.environ, **self.env},
                stdout=said,
                stderr=subprocess.STDOUT,
                process_group=0,
            )
        if len(self.blows) < kills and self.dice.random() > EARLY:
            self._wait_for_family(driver)
        while len(self.blows) < kills and not _ended(driver, self.dice.uniform(0, self.within)):
            what, process = self._victim(driver.pid)
            with suppress(ProcessLookupError):
                kill(process)
                self.blows.append(Blow(what, process, len(self.codes), time.monotonic() - begun))
            if process == driver.pid:
                break
        try:
            return driver.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            kill(driver.pid)
            raise AssertionError(f"a driver did not end.\n{self.told()}") from None

    def _victim(self, driver: int) -> tuple[str, int]:
        """Any kind of process is as likely as any other, however many there are of it."""
        hit = [blow.what for blow in self.blows if blow.life == len(self.codes)]
        if len(hit) - hit.count(SANDBOXED) == LOSSES:
            return DRIVER, driver
        kinds: dict[str, list[int]] = {DRIVER: [driver]}
        for what, process in self._others(driver):
            kinds.setdefault(what, []).append(process)
        if hit.count(SANDBOXED) >= MOST_SANDBOXED:
            kinds.pop(SANDBOXED, None)
        what = self.dice.choice(sorted(kinds))
        return what, self.dice.choice(sorted(kinds[what]))

    def _others(self, driver: int) -> list[tuple[str, int]]:
        more = [(what, process) for what, process in _family(self.more) if what in self.more_kinds]
        return [*_family([driver]), *more]

    def _wait_for_family(self, driver: "subprocess.Popen[bytes]") -> None:
        """Until somebody beside the driver can be hit, or it has ended."""
        while not self._others(driver.pid) and not _ended(driver, 0.02):
            pass


def _ended(driver: "subprocess.Popen[bytes]", seconds: float) -> bool:
    try:
        driver.wait(seconds)
    except subprocess.TimeoutExpired:
        return False
    return True


def _family(roots: Sequence[int]) -> list[tuple[str, int]]:
    """What descends from these processes: which kind, and its number."""
    there = {process.number: process for process in _processes()}
    below, found = set(roots), list[tuple[str, int]]()
    while new := {each.number for each in there.values() if each.parent in below} - below:
        below |= new
    for number in below - set(roots):
        kind = next((kind for mark, kind in MARKS.items() if mark in there[number].command), "")
        parent = there.get(there[number].parent)
        if kind == "zygote" and parent is not None and "planbook.sandbox.worker.zygote" in parent.command:
            kind = SANDBOXED
        if kind:
            found.append((kind, number))
    return found


def _processes() -> list[Process]:
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            with suppress(OSError):
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
                command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
                found.append(Process(int(entry.name), parent, command))
    return found


def survive_in_all(kills: int, begin: Callable[[int], Lives], check: Callable[[Lives], None]) -> list[Lives]:
    """As many runs as it takes until so many blows were survived; each is looked at when it is over."""
    runs: list[Lives] = []
    while (left := kills - sum(len(lives.blows) for lives in runs)) > 0:
        lives = begin(len(runs))
        lives.survive(left)
        check(lives)
        runs.append(lives)
    return runs
