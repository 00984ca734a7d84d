"""The speed of the sandbox compared with plain ``exec`` and with other packages that run plan code.

The figures cover plan code itself, calls of actions, the start of sessions, and memory.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from statistics import median

from planbook.sandbox import PRELOADED, Sandbox
from tools.bench import Row
from tools.bench.peers import MONTY, Engine, Monty, OurSandbox, missing_peers, open_engines
from tools.bench.processes import parents, private_megabytes
from tools.bench.timing import interleave, percentile, seconds, seconds_together

CODE: Mapping[str, tuple[int, str]] = {
    "arithmetic": (
        400_000,
        """
def work(rounds):
    total = 0
    for number in range(rounds):
        total = (total * 31 + number * number - number // 7) % 1000003
    return total
""",
    ),
    "+= loop": (
        400_000,
        """
def work(rounds):
    total, counts, seen = 0, {"a": 0}, [0]
    for number in range(rounds):
        total += number
        counts["a"] += 1
        seen[0] += number
    return total + counts["a"] + seen[0]
""",
    ),
    "string parsing": (
        40_000,
        """
def work(rounds):
    ids = []
    for number in range(rounds):
        text = "On the countertop " + str(number) + ", you see a apple 1, a mug 2, and a knife 3."
        head, tail = text.split(", you see ")
        place = head.replace("On the ", "").replace(" ", "_")
        for part in tail.rstrip(".").split(", "):
            words = part.removeprefix("and ").split()
            ids.append(f"{words[1]}_{words[2]}@{place}")
        ids = ids[-5:]
    return len(ids)
""",
    ),
}
"""Maps a title to a number of rounds, which take some milliseconds with plain ``exec``, and the timed code."""
CODE_GOAL = 1.05
"""The maximum time, as a multiple of the time of plain ``exec``."""
ACTIONS, ACTION_GOAL, START_GOAL, PLAN_GOAL = 300, 0.3, 4.0, 1.0
"""Each goal is a multiple of the figure of Monty, the only other package that runs plans in separate processes."""
PLAN_ACTIONS, PLAN_THREADS = 4, 2
FORK_SCRIPT = """
import os, sys, time
start = time.perf_counter()
for _ in range(int(sys.argv[1])):
    if (child := os.fork()) == 0:
        os._exit(0)
    os.waitpid(child, 0)
print(time.perf_counter() - start)
"""
IMPORT_SCRIPT = """
import importlib, json, os, sys
def resident():
    with open("/proc/self/statm") as statm:
        return int(statm.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
sys.modules["_hashlib"] = None
added = {}
for name in sys.argv[1:]:
    before = resident()
    importlib.import_module(name)
    added[name] = resident() - before
print(json.dumps(added))
"""
MIN_MODULE_BYTES = 100_000
"""Minimum bytes that a module must add to get its own row."""
MEMORY_GOAL = 4.0
REPEATS = 5
STARTS = 60
PLANS = 100
IDLE_WORKERS = 8


def rows(repeats: int = REPEATS, starts: int = STARTS, plans: int = PLANS) -> list[Row]:
    """Return all figures. Smaller counts take less time, but make the figures less reliable."""
    with Sandbox() as sandbox:
        figures = [_load(), _memory(sandbox), *_modules()]
        with open_engines(sandbox) as engines:
            for title, (rounds, code) in CODE.items():
                figures += _code(engines, title, rounds, code, repeats)
            figures += _actions(engines, repeats) + _starts(engines, starts) + _plans(engines, plans, repeats)
    return figures + [Row(f"{name}: not installed", None, "") for name in missing_peers()]


def _load() -> Row:
    """Return the load of the machine. If it exceeds the number of cores, all times are too long."""
    return Row(f"load of the machine before, on {os.cpu_count()} cores", os.getloadavg()[0], "")


def _code(engines: Sequence[Engine], title: str, rounds: int, code: str, repeats: int) -> list[Row]:
    """Return the wall-clock time per round of the function ``work``, as the median of several calls.

    The function is defined beforehand.
    """
    counts = [max(rounds // engine.slowness, 1) for engine in engines]
    times = _times(engines, [code] * len(engines), [f"work({count})" for count in counts], repeats)
    per_round = [median(column) / count for column, count in zip(times, counts, strict=True)]
    figures = []
    for engine, value in zip(engines, per_round, strict=True):
        ratio = value / per_round[0]
        compared = (ratio, engines[0].name) if engine is not engines[0] else (None, "")
        goal = (f"at most {CODE_GOAL:g} times", ratio <= CODE_GOAL) if isinstance(engine, OurSandbox) else ("", None)
        figures.append(Row(f"{title}: {engine.name}", value * 1e6, "us a round", *compared, *goal))
    return figures


def _actions(engines: Sequence[Engine], repeats: int) -> list[Row]:
    """Return the wall-clock time of calling a function of the host and getting its answer, as a median."""
    codes = [f"def act(times):\n    for _ in range(times):\n        {engine.action}\n" for engine in engines]
    times = _times(engines, codes, [f"act({ACTIONS})"] * len(engines), repeats)
    values = [median(column) / ACTIONS * 1e6 for column in times]
    return _engine_rows("action", engines, values, "us", ACTION_GOAL)


def _engine_rows(
    title: str, engines: Sequence[Engine], values: Sequence[float], unit: str, goal: float, *, at_least: bool = False
) -> list[Row]:
    """Return one row for each engine. Ours has a goal, which is a multiple of Monty's value."""
    peer = next((value for engine, value in zip(engines, values, strict=True) if engine.name == MONTY), None)
    figures = []
    for engine, value in zip(engines, values, strict=True):
        if peer is None or not isinstance(engine, OurSandbox):
            figures.append(Row(f"{title}: {engine.name}", value, unit))
            continue
        ratio = value / peer
        met, word = (ratio >= goal, "at least") if at_least else (ratio <= goal, "at most")
        figures.append(Row(f"{title}: {engine.name}", value, unit, ratio, MONTY, f"{word} {goal:g} times", met))
    return figures


def _times(engines: Sequence[Engine], codes: Sequence[str], calls: Sequence[str], repeats: int) -> list[list[float]]:
    """Run each engine's code in a session, and return the times of its call in this session. The engines take turns."""
    with ExitStack() as stack:
        works = []
        for engine, code, call in zip(engines, codes, calls, strict=True):
            run = stack.enter_context(engine.session())
            run(code)
            works.append(partial(seconds, partial(run, call)))
        return interleave(works, repeats)


def _starts(engines: Sequence[Engine], starts: int) -> list[Row]:
    """Return the wall-clock time of opening a session. The process or pool that it needs is already running."""
    times = interleave([partial(_start, engine) for engine in engines], starts)
    slow = [percentile(column, 0.9) * 1e3 for column in times]
    return [
        *_engine_rows("session start, median", engines, [median(column) * 1e3 for column in times], "ms", START_GOAL),
        *(
            Row(f"session start, 90th percentile: {engine.name}", value, "ms")
            for engine, value in zip(engines, slow, strict=True)
        ),
    ]


def _start(engine: Engine) -> float:
    with ExitStack() as stack:
        start = time.perf_counter()
        run = stack.enter_context(engine.session())
        elapsed = time.perf_counter() - start
        run("1 + 1")
    return elapsed


def _plans(engines: Sequence[Engine], plans: int, rounds: int) -> list[Row]:
    """Return the number of plans per second in several threads of this process, as the median of ``rounds``.

    A plan consists of opening a session, four actions, and closing the session. The first row is the number of
    processes that can be started per second, since each plan needs one.
    """
    in_processes = [engine for engine in engines if isinstance(engine, OurSandbox | Monty)]

    def together(engine: Engine) -> float:
        def work() -> None:
            for _ in range(plans):
                with engine.session() as run:
                    run("\n".join([engine.action] * PLAN_ACTIONS))

        return seconds_together([work] * PLAN_THREADS)

    works = [partial(_forks, plans), *(partial(together, engine) for engine in in_processes)]
    forked, *rates = (plans * PLAN_THREADS / median(column) for column in interleave(works, rounds))
    title = f"plans of {PLAN_ACTIONS} actions, {PLAN_THREADS} threads"
    return [
        Row(f"empty Python processes, {PLAN_THREADS} parents: forked, and ended", forked, "/s"),
        *_engine_rows(title, in_processes, rates, "/s", PLAN_GOAL, at_least=True),
    ]


def _forks(count: int) -> float:
    """Return the seconds in which each of several parallel processes forks and awaits ``count`` empty processes."""
    command = [sys.executable, "-I", "-S", "-c", FORK_SCRIPT, str(count)]
    processes = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(PLAN_THREADS)]
    return max(float(process.communicate()[0]) for process in processes)


def _memory(sandbox: Sandbox) -> Row:
    """Return the private memory of an idle worker, the process that runs plan code."""
    title = "private memory of an idle worker"
    with ExitStack() as stack:
        for _ in range(IDLE_WORKERS):
            stack.enter_context(sandbox.session({})).run("1 + 1")
        try:
            value = median(map(private_megabytes, _grandchildren()))
        except PermissionError:
            return Row(f"{title}: only root may read it", None, "")
    return Row(title, value, "MB", None, "", f"at most {MEMORY_GOAL:g} MB", value <= MEMORY_GOAL)


def _modules() -> list[Row]:
    """Return the memory that preloaded modules take. Workers share this memory until they write to it."""
    command = [sys.executable, "-I", "-S", "-c", IMPORT_SCRIPT, *sorted(PRELOADED)]
    added: dict[str, int] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    large = {name: size for name, size in added.items() if size >= MIN_MODULE_BYTES}
    title = "memory that preloaded modules add, shared"
    return [
        Row(f"{title}: all {len(added)}", sum(added.values()) / 1e6, "MB"),
        *(Row(f"{title}: {name}", size / 1e6, "MB") for name, size in sorted(large.items())),
    ]


def _grandchildren() -> list[int]:
    """Return the children of this process's children. If nothing else runs, these are the workers."""
    parent_of = parents()
    return [process for process, parent in parent_of.items() if parent_of.get(parent) == os.getpid()]
