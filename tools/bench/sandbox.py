"""The sandbox's speed compared with plain exec and installed peers: plan code, actions, starts, memory."""

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
from tools.bench.peers import MONTY, Engine, Monty, OurSandbox, engines, missing_peers
from tools.bench.processes import parents, private_megabytes
from tools.bench.timing import in_turn, percentile, seconds, seconds_together

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
"""Maps a title to the number of rounds for plain exec, which take some milliseconds, and the timed code."""
CODE_GOAL = 1.05
"""The maximum time, as a multiple of that of plain exec."""
ACTIONS, ACTION_GOAL, START_GOAL, PLAN_GOAL = 300, 0.3, 4.0, 1.0
"""The goals are multiples of the figures of Monty, the other engine that runs plans in processes."""
PLAN_ACTIONS, PLAN_THREADS = 4, 2
FORK = """
import os, sys, time
start = time.perf_counter()
for _ in range(int(sys.argv[1])):
    if (child := os.fork()) == 0:
        os._exit(0)
    os.waitpid(child, 0)
print(time.perf_counter() - start)
"""
IMPORTS = """
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
SMALLEST = 100_000
"""Minimum bytes that a module must add to have a row of its own."""
MEMORY_GOAL = 4.0
REPEATS = 5
STARTS = 60
PLANS = 100
IDLE = 8


def rows(repeats: int = REPEATS, starts: int = STARTS, plans: int = PLANS) -> list[Row]:
    """Return all figures; smaller counts take less time and give less reliable figures."""
    with Sandbox() as sandbox:
        figures = [_load(), _memory(sandbox), *_modules()]
        with engines(sandbox) as every:
            for title, (rounds, code) in CODE.items():
                figures += _code(every, title, rounds, code, repeats)
            figures += _actions(every, repeats) + _starts(every, starts) + _plans(every, plans, repeats)
    return figures + [Row(f"{name}: not installed", None, "") for name in missing_peers()]


def _load() -> Row:
    """Return the machine's load; if it exceeds the number of cores, all times below are too long."""
    return Row(f"load of the machine before, on {os.cpu_count()} cores", os.getloadavg()[0], "")


def _code(every: Sequence[Engine], title: str, rounds: int, code: str, repeats: int) -> list[Row]:
    """Return the wall-clock time per round of ``work``, which an earlier cell defined: the median of several calls."""
    counts = [max(rounds // engine.slowness, 1) for engine in every]
    times = _time_calls(every, [code] * len(every), [f"work({count})" for count in counts], repeats)
    per_round = [median(column) / count for column, count in zip(times, counts, strict=True)]
    figures = []
    for engine, value in zip(every, per_round, strict=True):
        ratio = value / per_round[0]
        compared = (ratio, every[0].name) if engine is not every[0] else (None, "")
        goal = (f"at most {CODE_GOAL:g} times", ratio <= CODE_GOAL) if isinstance(engine, OurSandbox) else ("", None)
        figures.append(Row(f"{title}: {engine.name}", value * 1e6, "us a round", *compared, *goal))
    return figures


def _actions(every: Sequence[Engine], repeats: int) -> list[Row]:
    """Return the wall-clock time of a call of a host function with its answer: the median of several loops."""
    codes = [f"def act(times):\n    for _ in range(times):\n        {engine.action}\n" for engine in every]
    times = _time_calls(every, codes, [f"act({ACTIONS})"] * len(every), repeats)
    values = [median(column) / ACTIONS * 1e6 for column in times]
    return _compared("action", every, values, "us", ACTION_GOAL)


def _compared(
    title: str, every: Sequence[Engine], values: Sequence[float], unit: str, goal: float, *, at_least: bool = False
) -> list[Row]:
    """Return one row for each engine; ours has a goal, as a multiple of Monty's value."""
    peer = next((value for engine, value in zip(every, values, strict=True) if engine.name == MONTY), None)
    figures = []
    for engine, value in zip(every, values, strict=True):
        if peer is None or not isinstance(engine, OurSandbox):
            figures.append(Row(f"{title}: {engine.name}", value, unit))
            continue
        ratio = value / peer
        met, word = (ratio >= goal, "at least") if at_least else (ratio <= goal, "at most")
        figures.append(Row(f"{title}: {engine.name}", value, unit, ratio, MONTY, f"{word} {goal:g} times", met))
    return figures


def _time_calls(every: Sequence[Engine], codes: Sequence[str], calls: Sequence[str], repeats: int) -> list[list[float]]:
    """Run each engine's code in a session, then time its call there, with the engines in turn."""
    with ExitStack() as stack:
        works = []
        for engine, code, call in zip(every, codes, calls, strict=True):
            run = stack.enter_context(engine.session())
            run(code)
            works.append(partial(seconds, partial(run, call)))
        return in_turn(works, repeats)


def _starts(every: Sequence[Engine], starts: int) -> list[Row]:
    """Return the wall-clock time until a session is open, with a warm zygote or pool."""
    times = in_turn([partial(_start, engine) for engine in every], starts)
    slow = [percentile(column, 0.9) * 1e3 for column in times]
    return [
        *_compared("session start, median", every, [median(column) * 1e3 for column in times], "ms", START_GOAL),
        *(
            Row(f"session start, 90th percentile: {each.name}", value, "ms")
            for each, value in zip(every, slow, strict=True)
        ),
    ]


def _start(engine: Engine) -> float:
    with ExitStack() as stack:
        start = time.perf_counter()
        run = stack.enter_context(engine.session())
        elapsed = time.perf_counter() - start
        run("1 + 1")
    return elapsed


def _plans(every: Sequence[Engine], plans: int, rounds: int) -> list[Row]:
    """Return plans per second (open, four actions, close), in threads of this process: the median of ``rounds``.

    The first row is the minimum cost of a separate process for each plan.
    """
    in_processes = [engine for engine in every if isinstance(engine, OurSandbox | Monty)]

    def together(engine: Engine) -> float:
        def work() -> None:
            for _ in range(plans):
                with engine.session() as run:
                    run("\n".join([engine.action] * PLAN_ACTIONS))

        return seconds_together([work] * PLAN_THREADS)

    works = [partial(_forks, plans), *(partial(together, engine) for engine in in_processes)]
    forked, *rates = (plans * PLAN_THREADS / median(column) for column in in_turn(works, rounds))
    title = f"plans of {PLAN_ACTIONS} actions, {PLAN_THREADS} threads"
    return [
        Row(f"empty Python processes, {PLAN_THREADS} parents: forked, and ended", forked, "/s"),
        *_compared(title, in_processes, rates, "/s", PLAN_GOAL, at_least=True),
    ]


def _forks(count: int) -> float:
    """Return the seconds in which parallel parents each fork ``count`` processes that do nothing, and wait for them."""
    command = [sys.executable, "-I", "-S", "-c", FORK, str(count)]
    parents = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(PLAN_THREADS)]
    return max(float(parent.communicate()[0]) for parent in parents)


def _memory(sandbox: Sandbox) -> Row:
    """Return the private memory of a worker that waits after a short cell."""
    title = "private memory of an idle worker"
    with ExitStack() as stack:
        for _ in range(IDLE):
            stack.enter_context(sandbox.session({})).run("1 + 1")
        try:
            value = median(map(private_megabytes, _grandchildren()))
        except PermissionError:
            return Row(f"{title}: only root may read it", None, "")
    return Row(title, value, "MB", None, "", f"at most {MEMORY_GOAL:g} MB", value <= MEMORY_GOAL)


def _modules() -> list[Row]:
    """Return the memory that the preloaded modules add to the zygote; workers share it until they write to it."""
    command = [sys.executable, "-I", "-S", "-c", IMPORTS, *sorted(PRELOADED)]
    added: dict[str, int] = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
    large = {name: size for name, size in added.items() if size >= SMALLEST}
    title = "memory that preloaded modules add, shared"
    return [
        Row(f"{title}: all {len(added)}", sum(added.values()) / 1e6, "MB"),
        *(Row(f"{title}: {name}", size / 1e6, "MB") for name, size in sorted(large.items())),
    ]


def _grandchildren() -> list[int]:
    """Return the processes started by this process's children: if nothing else runs, the zygote's workers."""
    parent_of = parents()
    return [process for process, parent in parent_of.items() if parent_of.get(parent) == os.getpid()]
