"""Helpers for tests that kill processes at chosen or random moments.

- A sandbox worker, at chosen calls of a plan: a ``Reaper``, or a ``DeadlySandbox`` with one, in this process.
- A host, right after chosen events of a run: ``run_until_survived``, which forks one process after the other.
- Any process of a run, at random moments: ``RandomKills``. PLANBOOK_KILLS sets the number of kills that each such
  test survives, and PLANBOOK_KILLS_SEED chooses them:

PLANBOOK_KILLS=100 PLANBOOK_KILLS_SEED=7 pytest -n 0 tests/planbook/test_killed_at_random.py
"""

import json
import os
import random
import signal
import subprocess
import sys
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import wraps
from itertools import count
from pathlib import Path
from typing import Any, Literal, NamedTuple

from pydantic import JsonValue

from planbook.sandbox import CellResult, Sandbox, Session, bound_names
from planbook.sandbox.process import MAX_KILLS
from tests.command import ROOT
from tests.executing import all_processes, kernel_reports_kills, kill

KILLED, FAULT = -signal.SIGKILL, 99
"""Exit codes of a process that was killed, and of a process in which the command returned without exiting."""
KillMoment = Literal["asked", "answered", "sent", "computing", "between"]
KILL_MOMENTS: tuple[KillMoment, ...] = ("asked", "answered", "sent", "computing", "between")
"""When a worker is killed, in this order: before its call is carried out; after that, but before the call is answered;
when the answer has been sent, but not read; a few milliseconds later; after the end of the cell that made the call."""
CHANCE = "import random, time\nprint([random.random(), random.getrandbits(64), time.time()])"


# A sandbox worker, at chosen calls.


def worker_of(session: Session) -> int:
    """Return the process id of a session's worker, or 0 if it has none at present."""
    return session._worker._pid if session._worker is not None else 0


def kill_worker(session: Session, signal_number: signal.Signals = signal.SIGKILL) -> None:
    """Kill a session's worker, as the kernel does when memory runs out. The worker may be dead already."""
    if pid := worker_of(session):
        with suppress(ProcessLookupError):
            os.kill(pid, signal_number)


@dataclass
class Reaper:
    """Kills the workers of sessions. ``deaths`` maps the number of a call, from 0, to when its worker is killed."""

    deaths: Callable[[int], KillMoment | None] = lambda number: None
    completed_calls: list[tuple[str, Any, Any]] = field(default_factory=list)
    """Every call that a host function carried out."""
    final_states: list[str] = field(default_factory=list)
    """The state of each session when it was closed: its names and values, its next random numbers and its time."""
    kill_count: int = 0
    _numbers: Iterable[int] = field(default_factory=count)

    def open(
        self,
        opener: Callable[..., Session],
        functions: Mapping[str, Callable[..., object]],
        on_wait: Callable[[], None] | None = None,
        **settings: Any,
    ) -> Session:
        """Open a session whose worker dies at the chosen calls."""
        doomed = _DoomedSession(self)
        deadly = {name: doomed.wrap(name, function) for name, function in functions.items()}
        session = opener(deadly, on_wait=doomed.watch(on_wait), **settings)
        doomed.take(session)
        return session

    def next(self) -> KillMoment | None:
        """Return when the worker is killed at the next call, or None if it is not."""
        return self.deaths(next(iter(self._numbers)))


class _DoomedSession:
    """A session whose worker is killed."""

    def __init__(self, reaper: Reaper) -> None:
        self._reaper, self._names = reaper, dict[str, None]()
        self._moment: KillMoment | None = None

    def take(self, session: Session) -> None:
        """Route calls of the session's ``run`` and ``close`` through this object."""
        self._session, self._run, self._close = session, session.run, session.close
        session.run, session.close = self.run, self.close  # type: ignore[method-assign]

    def run(self, code: str, name: str = "cell") -> CellResult:
        result = self._run(code, name)
        if result.fault is None or result.fault.kind != "check":
            self._names |= dict.fromkeys(sorted(bound_names(code)))
        self._die("between")
        self._moment = None
        return result

    def close(self) -> None:
        if not self._session._closed:
            self._moment = None
            self._reaper.final_states.append(self._run(state_code(self._names), "look").output)
        self._close()

    def wrap(self, name: str, function: Callable[..., object]) -> Callable[..., object]:
        @wraps(function)
        def call(*args: JsonValue, **kwargs: JsonValue) -> object:
            moment = self._moment = self._reaper.next()
            self._die("asked")
            self._reaper.completed_calls.append((name, args, kwargs))
            try:
                return function(*args, **kwargs)
            finally:
                self._moment = moment  # a nested plan may have called in between
                self._die("answered")
                if moment == "sent":
                    kill_worker(self._session, signal.SIGSTOP)

        return call

    def watch(self, on_wait: Callable[[], None] | None) -> Callable[[], None]:
        def look() -> None:
            if on_wait is not None:
                on_wait()
            self._die("sent", "computing")

        return look

    def _die(self, *moments: KillMoment) -> None:
        if self._moment in moments:
            self._moment = None
            self._reaper.kill_count += 1
            kill_worker(self._session)


class DeadlySandbox(Sandbox):
    """A sandbox in which a reaper opens the sessions."""

    def __init__(self, reaper: Reaper, **settings: Any) -> None:
        self.reaper = Reaper()  # kills nothing while the sandbox tests itself
        super().__init__(**settings)
        self.reaper = reaper

    def session(self, functions: Mapping[str, Callable[..., object]], **settings: Any) -> Session:
        """Open a session."""
        return self.reaper.open(super().session, functions, **settings)


def state_code(names: Iterable[str]) -> str:
    """Return code that prints the values of those names that exist, the next random numbers and the time."""
    shown = (f"try:\n    print({name!r}, repr({name}))\nexcept NameError:\n    pass" for name in names)
    return "\n".join([*shown, CHANCE])


# A host, right after chosen events.


def run_until_survived(kills: Sequence[Sequence[Any]], *arguments: object, url: str = "") -> list[int]:
    """Run a command again and again until it is not killed. Return the exit codes.

    ``kills`` has a pair for each process. [kind, number] kills it right after its number-th new event of that kind; ""
    is any kind, except for the run's own events. Number 0 kills nothing. ["pid", FILE] writes the process id to the
    file, so that the test can kill the process. ``url`` is the URL of a model server.
    """
    env = os.environ | ({"OPENAI_BASE_URL": url, "OPENAI_API_KEY": "key"} if url else {})
    command = [sys.executable, "-m", "tests.killing", json.dumps(kills), *map(str, arguments)]
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=280)
    assert done.returncode == 0, done.stderr
    codes: list[int] = json.loads(done.stdout.splitlines()[-1])
    assert FAULT not in codes, done.stderr
    return codes


def _live(kind: str, number: Any, arguments: list[str]) -> None:
    """Run one command, and kill the process right after ``number`` new events of a kind."""
    from planbook.cli import main
    from planbook.store import Store

    put, left = Store.put_all, number

    def counted(store: Store, rows: list[Any]) -> None:
        nonlocal left
        put(store, rows)
        left -= sum(row[0] != "run" and kind in ("", row[1]) for row in rows)
        if left == 0:
            os.kill(os.getpid(), signal.SIGKILL)

    if kind == "pid":
        Path(number).write_text(str(os.getpid()))
    elif number:
        Store.put_all = counted  # type: ignore[method-assign, assignment]
    sys.argv = ["planbook", *arguments]
    main()


def _forked(kills: list[Any], arguments: list[str]) -> list[int]:
    codes: list[int] = []
    for kind, number in kills:
        child = os.fork()
        if child == 0:
            os.close(1)
            os.open(os.devnull, os.O_WRONLY)
            try:
                _live(kind, number, arguments)
            except SystemExit as exit:
                sys.stderr.flush()
                os._exit(int(exit.code or 0))
            os._exit(FAULT)
        codes.append(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
        if codes[-1] != KILLED:
            break
    return codes


# Any process of a run, at random moments.

SEED = int(os.environ.get("PLANBOOK_KILLS_SEED", "0"))
DRIVER, SANDBOX_WORKER = "driver", "sandbox worker"
MAX_LOSSES = 2
"""Losses after which the driver is the next victim. A third dead worker would count as the episode's fault."""
MAX_SANDBOX_KILLS = MAX_KILLS - 1 if kernel_reports_kills() else 1
"""Maximum number of a driver's sandbox workers to kill. More deaths at one place would count as the plan's fault."""
EARLY = 0.2
"""Share of drivers that may be killed while they start, before they have other processes."""
PATIENCE_SECONDS = 150
"""Maximum seconds that a driver may take to end after the last kill."""
KINDS_BY_COMMAND: Mapping[str, str] = {
    "planbook.workers.processes": "worker",
    "planbook.sandbox.worker.zygote": "zygote",
    "ray::RemoteJob": "actor",
    "ray::": "Ray's worker",
    "gcs_server": "gcs",
    "raylet/raylet": "raylet",
    "log_monitor.py": "log monitor",
    "monitor.py": "monitor",
    "dashboard": "dashboard",
    "postgres: ": "backend",
}
"""Maps a part of a process's command line to the kind of the process. The first part that matches counts."""


def number_of_kills(default: int) -> int:
    """Return the number of kills that a test must survive."""
    return int(os.environ.get("PLANBOOK_KILLS", default))


class Kill(NamedTuple):
    """A kill: the kind and id of the process, the driver's number from 0, and the seconds since that driver started."""

    what: str
    process: int
    driver: int
    seconds: float

    def __str__(self) -> str:
        return f"{self.what} {self.process} of driver {self.driver}, {self.seconds:.2f} s after its start"


@dataclass
class RandomKills:
    """A run that one driver after the other plays until one of them exits with 0.

    ``more`` are the root processes of other families, such as those of a cluster or a database. Their descendants of
    the kinds in ``more_kinds`` may be killed as well. After a process of a kind in ``waits`` was killed, drivers may
    fail without being killed themselves until that process has recovered.
    """

    command: Sequence[str]
    output: Path
    rng: random.Random
    env: Mapping[str, str] = field(default_factory=dict)
    more: Sequence[int] = ()
    more_kinds: frozenset[str] = frozenset()
    waits: frozenset[str] = frozenset()
    within: float = 1.6
    """Maximum seconds from a driver's start, or from a kill, to the next kill."""
    blows: list[Kill] = field(default_factory=list)
    codes: list[int] = field(default_factory=list)

    def survive(self, kills: int) -> None:
        """Kill at most ``kills`` processes. Fails if an undisturbed driver does not exit with 0."""
        while 0 not in self.codes:
            before = len(self.blows)
            self.codes.append(self._live(kills))
            new_kills = self.blows[before:]
            recovering = any(blow.what in self.waits for blow in self.blows[-2:])
            assert self.codes[-1] == 0 or new_kills or recovering, self.report()
            assert len(self.codes) <= kills + 40, self.report()

    def report(self) -> str:
        """Return a description of what happened, for the message of a failure."""
        kills = "\n".join(map(str, self.blows))
        return f"drivers ended with {self.codes}; killed were\n{kills}\nThe drivers said:\n{self.output.read_text()}"

    def _live(self, kills: int) -> int:
        started = time.monotonic()
        with self.output.open("a") as output:
            driver = subprocess.Popen(
                [sys.executable, "-m", "planbook", *self.command],
                cwd=ROOT,
                env={**os.environ, **self.env},
                stdout=output,
                stderr=subprocess.STDOUT,
                process_group=0,
            )
        if len(self.blows) < kills and self.rng.random() > EARLY:
            self._wait_for_family(driver)
        while len(self.blows) < kills and not _ended(driver, self.rng.uniform(0, self.within)):
            kind, process = self._victim(driver.pid)
            with suppress(ProcessLookupError):
                kill(process)
                self.blows.append(Kill(kind, process, len(self.codes), time.monotonic() - started))
            if process == driver.pid:
                break
        try:
            return driver.wait(PATIENCE_SECONDS)
        except subprocess.TimeoutExpired:
            kill(driver.pid)
            raise AssertionError(f"a driver did not end.\n{self.report()}") from None

    def _victim(self, driver: int) -> tuple[str, int]:
        """Return the kind and id of the next victim. All kinds of processes are equally likely."""
        hit = [blow.what for blow in self.blows if blow.driver == len(self.codes)]
        if len(hit) - hit.count(SANDBOX_WORKER) == MAX_LOSSES:
            return DRIVER, driver
        kinds: dict[str, list[int]] = {DRIVER: [driver]}
        for kind, process in self._others(driver):
            kinds.setdefault(kind, []).append(process)
        if hit.count(SANDBOX_WORKER) >= MAX_SANDBOX_KILLS:
            kinds.pop(SANDBOX_WORKER, None)
        kind = self.rng.choice(sorted(kinds))
        return kind, self.rng.choice(sorted(kinds[kind]))

    def _others(self, driver: int) -> list[tuple[str, int]]:
        more = [(kind, process) for kind, process in _family(self.more) if kind in self.more_kinds]
        return [*_family([driver]), *more]

    def _wait_for_family(self, driver: "subprocess.Popen[bytes]") -> None:
        """Wait until there is a process to kill besides the driver, or the driver has ended."""
        while not self._others(driver.pid) and not _ended(driver, 0.02):
            pass


def _ended(driver: "subprocess.Popen[bytes]", seconds: float) -> bool:
    with suppress(subprocess.TimeoutExpired):
        driver.wait(seconds)
    return driver.returncode is not None


def _family(roots: Sequence[int]) -> list[tuple[str, int]]:
    """Return the descendants of these processes, each with its kind."""
    there = {process.number: process for process in all_processes()}
    below, found = set(roots), list[tuple[str, int]]()
    while new := {process.number for process in there.values() if process.parent in below} - below:
        below |= new
    for number in below - set(roots):
        kind = next((kind for mark, kind in KINDS_BY_COMMAND.items() if mark in there[number].command), "")
        parent = there.get(there[number].parent)
        if kind == "zygote" and parent is not None and "planbook.sandbox.worker.zygote" in parent.command:
            kind = SANDBOX_WORKER
        if kind:
            found.append((kind, number))
    return found


def survive_in_all(
    kills: int, begin: Callable[[int], RandomKills], check: Callable[[RandomKills], None]
) -> list[RandomKills]:
    """Begin runs until they have survived ``kills`` kills in total. Check each run when it is over."""
    runs: list[RandomKills] = []
    while (left := kills - sum(len(run.blows) for run in runs)) > 0:
        run = begin(len(runs))
        run.survive(left)
        check(run)
        runs.append(run)
    return runs


if __name__ == "__main__":
    import planbook.planner.models.openai_api  # noqa: F401 - once for all forked processes, since it takes a second

    warnings.simplefilter("ignore")
    print(json.dumps(_forked(json.loads(sys.argv[1]), sys.argv[2:])))
