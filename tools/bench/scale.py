"""What many episodes at once gain, and what memory they take: threads, worker processes and, where it is there, Ray."""

import importlib.util
import os
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import NamedTuple

from planbook.config import Config, Executor
from planbook.envs import Task
from planbook.knowledge import memory_of
from planbook.runs import Run
from planbook.settings import Settings
from planbook.workers import Hosting, check_roles, every, play_episodes
from tools.bench import Row
from tools.bench.model_address import openai_at
from tools.bench.processes import parents, private_megabytes
from tools.bench.replay import games

GAMES = 4_000
"""At most: all of the training split."""
GOAL_PROCESSES, GOAL_IN_FLIGHT = 1.8, 25.0
CORES = 2
JOBS = CORES + 1
"""One more than there are cores: none of them waits while a plan's process wakes up."""
ANSWER_SECONDS = 2.0
IN_FLIGHT, ALONE = 32, 3
ROUNDS = 3
"""How many episodes each of those in flight plays after the other; one by one, ``ALONE`` are played in all."""
SAMPLE_SECONDS = 0.25
CLONE = Path(__file__).parents[2]


class ScaleFigures(NamedTuple):
    """How long a run took, and the most private memory that this process and those below it had at a time."""

    seconds: float
    megabytes: float


def rows(limit: int = GAMES, answer_seconds: float = ANSWER_SECONDS) -> list[Row]:
    """Processor-bound replays, then episodes that wait for a model, with the memory that they take."""
    return [*_replays(limit), *_waiting(answer_seconds)]


def executors() -> list[Executor]:
    """Those beside threads that can be had here."""
    return ["processes", "ray"] if importlib.util.find_spec("ray") else ["processes"]


def _replays(limit: int) -> list[Row]:
    config, tasks = games(limit)
    source = f"{len(tasks)} ALFWorld games of {tasks[0].split}"
    before = _busy_seconds()
    alone = _play(config, tasks, Hosting(jobs=1))
    spread = (_busy_seconds() - before) / CORES
    found = [
        Row("replay: threads, 1 job", alone, "s", None, source),
        Row(
            f"replay: the processor time of that, over {CORES} cores", spread, "s", alone / spread, "the most there is"
        ),
    ]
    for executor in executors():
        taken = _play(config, tasks, Hosting(jobs=JOBS, executor=executor))
        ratio, goal = alone / taken, f"at least {GOAL_PROCESSES:g} times as fast"
        name = f"replay: {executor}, {JOBS} jobs on {CORES} cores, their start included"
        found.append(Row(name, taken, "s", ratio, "threads, 1 job", goal, ratio >= GOAL_PROCESSES))
    return found


def _busy_seconds() -> float:
    """Processor time of the whole machine since it was started: plans run in processes that are nobody's children."""
    user, nice, system, _, _, *interrupts = map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9])
    return (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")


def _waiting(answer_seconds: float) -> list[Row]:
    """Seconds an episode, and private memory a job: what 32 jobs have more than one, each."""
    with _slow_model(answer_seconds) as spared:
        config = Settings.of(env="toy", types="fetch", seeds="0", models=("openai:slow",)).config("automanual")
        check_roles(config)  # the SDK is imported beforehand
        tasks = config.environment.select(config.selection)
        alone = _weighed(config, tasks * ALONE, Hosting(jobs=1), spared)
        together = _weighed(config, tasks * IN_FLIGHT * ROUNDS, Hosting(jobs=IN_FLIGHT), spared)
        each, beside = alone.seconds / ALONE, together.seconds / (IN_FLIGHT * ROUNDS)
        against, goal = f"{ALONE} one by one", f"at least {GOAL_IN_FLIGHT:g} times as fast"
        ratio = each / beside
        found = [
            Row(f"waiting {answer_seconds:g} s an answer: an episode, one by one", each, "s"),
            Row(f"the same, {IN_FLIGHT} in flight", beside, "s", ratio, against, goal, ratio >= GOAL_IN_FLIGHT),
            _memory("threads", alone, together),
        ]
        for executor in executors():
            several = _weighed(config, tasks * IN_FLIGHT, Hosting(jobs=IN_FLIGHT, executor=executor), spared)
            found.append(_memory(executor, alone, several))
        return found


def _memory(executor: Executor, alone: ScaleFigures, together: ScaleFigures) -> Row:
    more = (together.megabytes - alone.megabytes) / (IN_FLIGHT - 1)
    against = f"{together.megabytes:,.0f} MB for {IN_FLIGHT} jobs, {alone.megabytes:,.0f} MB for one in threads"
    return Row(f"private memory a job: {executor}", more, "MB", None, against)


def _play(config: Config, tasks: Sequence[Task], hosting: Hosting) -> float:
    """The seconds that it takes to play a run in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder, closing(Run.create(Path(folder) / "run", config, tasks)) as run:
        begun = time.perf_counter()
        play_episodes(run, memory_of(config), lambda entry, ending: None, hosting=hosting)
        return time.perf_counter() - begun


def _weighed(config: Config, tasks: Sequence[Task], hosting: Hosting, spared: int) -> ScaleFigures:
    """The same, with a look at the memory now and then, which takes time itself; that of ``spared`` does not count."""
    with _watched(spared) as peak:
        seconds = _play(config, tasks, hosting)
    return ScaleFigures(seconds, max(peak))


@contextmanager
def _watched(spared: int) -> Iterator[list[float]]:
    found = [_megabytes_in_all(spared)]
    with every(SAMPLE_SECONDS, lambda: found.append(_megabytes_in_all(spared))):
        yield found


def _megabytes_in_all(spared: int) -> float:
    """Memory that this process and all below it share with nobody, as far as it may be read."""
    below: defaultdict[int, list[int]] = defaultdict(list)
    for process, parent in parents().items():
        below[parent].append(process)
    left, found = [os.getpid()], 0.0
    while left:
        process = left.pop()
        if process != spared:
            with suppress(OSError):  # it ended meanwhile, or only root may read it
                found += private_megabytes(process)
            left += below[process]
    return found


@contextmanager
def _slow_model(answer_seconds: float) -> Iterator[int]:
    """A server for ``openai:slow``, and its process."""
    command = [sys.executable, "-m", "tools.bench.slow_server", str(answer_seconds)]
    with subprocess.Popen(command, cwd=CLONE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        with openai_at(int(server.stdout.readline())):
            try:
                yield server.pid
            finally:
                server.stdin.close()
