"""The sandbox's speed beside plain exec and the peers that are installed: plan code, actions, starts, memory."""

import os
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from functools import partial
from statistics import median

from planbook.bench import Row
from planbook.bench.peers import Engine, Ours, engines, missing
from planbook.bench.processes import parents, private_megabytes
from planbook.bench.timing import in_turn, percentile, seconds, seconds_together
from sandbox import Sandbox

CODE: Mapping[str, tuple[int, str]] = {
    "arithmetic": (
        60_000,
        """
def work(rounds):
    total = 0
    for number in range(rounds):
        total = (total * 31 + number * number - number // 7) % 1000003
    return total
""",
    ),
    "+= loop": (
        60_000,
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
        6_000,
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
"""What is timed, to how many rounds plain exec does of it, some milliseconds of them, and the code."""
CODE_GOAL = 1.15
ACTIONS, ACTION_GOAL = 300, 45.0
START_GOAL = 1.0
PLAN = "for number in range(1, 5):\n    agent.go_to(f'desk_{number}')\n"
PLAN_THREADS, PLAN_GOAL = 2, 700.0
FORK = """
import os, sys, time
begun = time.perf_counter()
for _ in range(int(sys.argv[1])):
    if (child := os.fork()) == 0:
        os._exit(0)
    os.waitpid(child, 0)
print(time.perf_counter() - begun)
"""
MEMORY_GOAL = 4.0
REPEATS = 15
STARTS = 60
PLANS, PLAN_ROUNDS = 100, 5
IDLE = 8


def rows(repeats: int = REPEATS, starts: int = STARTS, plans: int = PLANS) -> list[Row]:
    """Every figure; the smaller the counts, the less it takes and the more the figures jump."""
    with Sandbox() as sandbox:
        found = [_load(), _memory(sandbox)]
        with engines(sandbox) as every:
            for title, (rounds, code) in CODE.items():
                found += _code(every, title, rounds, code, repeats)
            found += _actions(every, repeats) + _starts(every, starts)
        found += _plans(Ours(sandbox), plans)
    return found + [Row(f"{name}: not installed", None, "") for name in missing()]


def _load() -> Row:
    """What else the machine had to do of late: with more than its cores can take, every time below is too long."""
    return Row(f"load of the machine before, on {os.cpu_count()} cores", os.getloadavg()[0], "")


def _code(every: Sequence[Engine], title: str, rounds: int, code: str, repeats: int) -> list[Row]:
    """A round's share of the wall clock of calling ``work``, which an earlier cell has defined: the fastest call, since
    whatever else the machine does can only add to it."""
    calls = [max(rounds // engine.slowness, 1) for engine in every]
    times = _timed(every, [code] * len(every), [f"work({count})" for count in calls], repeats)
    a_round = [min(column) / count for column, count in zip(times, calls, strict=True)]
    found = []
    for engine, value in zip(every, a_round, strict=True):
        ratio = value / a_round[0]
        compared = (ratio, every[0].name) if engine is not every[0] else (None, "")
        goal = (f"at most {CODE_GOAL:g} times", ratio <= CODE_GOAL) if isinstance(engine, Ours) else ("", None)
        found.append(Row(f"{title}: {engine.name}", value * 1e6, "us a round", *compared, *goal))
    return found


def _actions(every: Sequence[Engine], repeats: int) -> list[Row]:
    """Wall clock of a call of a host function from a loop of plan code, answer included: in the fastest loop."""
    codes = [f"def act(times):\n    for _ in range(times):\n        {engine.action}\n" for engine in every]
    times = _timed(every, codes, [f"act({ACTIONS})"] * len(every), repeats)
    found = []
    for engine, column in zip(every, times, strict=True):
        value = min(column) / ACTIONS * 1e6
        goal = (f"at most {ACTION_GOAL:g} us", value <= ACTION_GOAL) if isinstance(engine, Ours) else ("", None)
        name = f"action, arguments checked: {engine.name}" if isinstance(engine, Ours) else f"action: {engine.name}"
        found.append(Row(name, value, "us", None, "", *goal))
    return found


def _timed(every: Sequence[Engine], codes: Sequence[str], calls: Sequence[str], repeats: int) -> list[list[float]]:
    """Run each engine's code in a session, then time its call there, all engines in turn."""
    with ExitStack() as stack:
        works = []
        for engine, code, call in zip(every, codes, calls, strict=True):
            run = stack.enter_context(engine.session())
            run(code)
            works.append(partial(seconds, partial(run, call)))
        return in_turn(works, repeats)


def _starts(every: Sequence[Engine], starts: int) -> list[Row]:
    """Wall clock until a session is open, one after the other with a short cell each, the zygote or pool being warm."""
    times = in_turn([partial(_start, engine) for engine in every], starts)
    found = []
    for engine, column in zip(every, times, strict=True):
        value = median(column) * 1e3
        goal = (f"at most {START_GOAL:g} ms", value <= START_GOAL) if isinstance(engine, Ours) else ("", None)
        found += [
            Row(f"session start, median: {engine.name}", value, "ms", None, "", *goal),
            Row(f"session start, 90th percentile: {engine.name}", percentile(column, 0.9) * 1e3, "ms"),
        ]
    return found


def _start(engine: Engine) -> float:
    with ExitStack() as stack:
        begun = time.perf_counter()
        run = stack.enter_context(engine.session())
        taken = time.perf_counter() - begun
        run("1 + 1")
    return taken


def _plans(ours: Ours, plans: int) -> list[Row]:
    """Whole plans a second: open, four actions, close; in threads of this process, in the fastest of some rounds.

    Beside them what a process of its own for each plan costs at least.
    """

    def work() -> None:
        for _ in range(plans):
            with ours.session() as run:
                run(PLAN)

    together = partial(seconds_together, [work] * PLAN_THREADS)
    forked, played = map(min, in_turn([partial(_forks, plans), together], PLAN_ROUNDS))
    value, forks = (plans * PLAN_THREADS / taken for taken in (played, forked))
    title, goal = f"plans of 4 actions, {PLAN_THREADS} threads", f"at least {PLAN_GOAL:g} 1/s"
    limit = f"empty Python processes, {PLAN_THREADS} parents"
    return [
        Row(f"{limit}: forked, and ended", forks, "/s"),
        Row(title, value, "/s", value / forks, limit, goal, value >= PLAN_GOAL),
    ]


def _forks(count: int) -> float:
    """Seconds that parents side by side take to fork and wait for so many each, which import and do nothing."""
    command = [sys.executable, "-I", "-S", "-c", FORK, str(count)]
    parents = [subprocess.Popen(command, stdout=subprocess.PIPE, text=True) for _ in range(PLAN_THREADS)]
    return max(float(parent.communicate()[0]) for parent in parents)


def _memory(sandbox: Sandbox) -> Row:
    """Memory that a worker which waits after a short cell shares with no other process."""
    title = "private memory of an idle worker"
    with ExitStack() as stack:
        for _ in range(IDLE):
            stack.enter_context(sandbox.session({})).run("1 + 1")
        try:
            value = median(map(private_megabytes, _grandchildren()))
        except PermissionError:
            return Row(f"{title}: only root may read it", None, "")
    return Row(title, value, "MB", None, "", f"at most {MEMORY_GOAL:g} MB", value <= MEMORY_GOAL)


def _grandchildren() -> list[int]:
    """The processes that this process's children started: with nothing else running, the zygote's workers."""
    found = parents()
    return [process for process, parent in found.items() if found.get(parent) == os.getpid()]
