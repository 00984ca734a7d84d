"""The speedup and memory use of many simultaneous episodes: in threads, in worker processes and, if installed, Ray."""

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
from planbook.workers import Execution, check_roles, play_episodes
from planbook.workers.control import call_every
from tools.bench import Row
from tools.bench.model_address import openai_at
from tools.bench.processes import parents, private_megabytes
from tools.bench.replay import config_and_tasks

GAMES = 4_000
"""Maximum number of games, enough for the whole training split."""
GOALS: dict[Executor, float] = {"processes": 1.56, "ray": 1.3}
GOAL_IN_FLIGHT = 25.0
CORES = 2
JOBS = CORES + 1
"""The number of parallel episodes: one more than the number of cores, so that no core is idle while the process in
which a plan runs wakes up.
"""
ANSWER_SECONDS = 2.0
IN_FLIGHT, ROUNDS, ALONE = 32, 3, 3
"""The number of parallel jobs, and of the episodes that each plays. For comparison, ``ALONE`` episodes are played one
after another.
"""
SAMPLE_SECONDS = 0.25
CLONE = Path(__file__).parents[2]


class ScaleFigures(NamedTuple):
    """The duration of a run, and the peak private memory of this process and its descendants."""

    seconds: float
    megabytes: float


def rows(limit: int = GAMES, answer_seconds: float = ANSWER_SECONDS) -> list[Row]:
    """Return the figures of replays, which the processor limits, and of episodes that wait for a model."""
    return [*_replay_rows(limit), *_waiting_rows(answer_seconds)]


def executors() -> list[Executor]:
    """Return the available executors other than threads."""
    return ["processes", "ray"] if importlib.util.find_spec("ray") else ["processes"]


def _replay_rows(limit: int) -> list[Row]:
    config, tasks = config_and_tasks(limit)
    source = f"{len(tasks)} ALFWorld games of {tasks[0].split}"
    before = _busy_seconds()
    alone = _play(config, tasks, Execution(jobs=1))
    ideal = (_busy_seconds() - before) / CORES
    name = f"replay: the processor time of that, over {CORES} cores"
    figures = [
        Row("replay: threads, 1 job", alone, "s", None, source),
        Row(name, ideal, "s", alone / ideal, "the maximum"),
    ]
    for executor in executors():
        elapsed = _play(config, tasks, Execution(jobs=JOBS, executor=executor))
        ratio, goal = alone / elapsed, f"at least {GOALS[executor]:g} times as fast"
        name = f"replay: {executor}, {JOBS} jobs on {CORES} cores, their start included"
        figures.append(Row(name, elapsed, "s", ratio, "threads, 1 job", goal, ratio >= GOALS[executor]))
    return figures


def _busy_seconds() -> float:
    """Return the processor time of the whole machine since its start.

    The time of this process and its children is not enough: the processes in which plans run are not its children.
    """
    user, nice, system, _, _, *interrupts = map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9])
    return (user + nice + system + sum(interrupts)) / os.sysconf("SC_CLK_TCK")


def _waiting_rows(answer_seconds: float) -> list[Row]:
    """Return the seconds per episode, and the private memory per job.

    The memory per job is that of ``IN_FLIGHT`` jobs minus that of one job, divided by the number of added jobs.
    """
    with _slow_model(answer_seconds) as server_pid:
        config = Settings.of(env="toy", types="fetch", seeds="0", models=("openai:slow",)).config("automanual")
        check_roles(config)  # imports the SDK, which must not be timed
        tasks = config.environment.select(config.selection)
        alone = _measure(config, tasks * ALONE, Execution(jobs=1), server_pid)
        together = _measure(config, tasks * IN_FLIGHT * ROUNDS, Execution(jobs=IN_FLIGHT), server_pid)
        one_by_one, in_flight = alone.seconds / ALONE, together.seconds / (IN_FLIGHT * ROUNDS)
        against, goal = f"{ALONE} one by one", f"at least {GOAL_IN_FLIGHT:g} times as fast"
        ratio = one_by_one / in_flight
        figures = [
            Row(f"waiting {answer_seconds:g} s an answer: an episode, one by one", one_by_one, "s"),
            Row(f"the same, {IN_FLIGHT} in flight", in_flight, "s", ratio, against, goal, ratio >= GOAL_IN_FLIGHT),
            _memory("threads", alone, together),
        ]
        for executor in executors():
            together = _measure(config, tasks * IN_FLIGHT, Execution(jobs=IN_FLIGHT, executor=executor), server_pid)
            figures.append(_memory(executor, alone, together))
        return figures


def _memory(executor: Executor, alone: ScaleFigures, together: ScaleFigures) -> Row:
    megabytes = (together.megabytes - alone.megabytes) / (IN_FLIGHT - 1)
    against = f"{together.megabytes:,.0f} MB for {IN_FLIGHT} jobs, {alone.megabytes:,.0f} MB for one in threads"
    return Row(f"private memory a job: {executor}", megabytes, "MB", None, against)


def _play(config: Config, tasks: Sequence[Task], execution: Execution) -> float:
    """Play a run in a temporary folder, and return its duration in seconds."""
    with tempfile.TemporaryDirectory() as folder, closing(Run.create(Path(folder) / "run", config, tasks)) as run:
        start = time.perf_counter()
        play_episodes(run, memory_of(config), lambda entry, ending: None, execution=execution)
        return time.perf_counter() - start


def _measure(config: Config, tasks: Sequence[Task], execution: Execution, server_pid: int) -> ScaleFigures:
    """Play a run while its memory is sampled, which slows it down slightly. The server's memory does not count."""
    samples = [_private_megabytes(server_pid)]
    with call_every(SAMPLE_SECONDS, lambda: samples.append(_private_megabytes(server_pid))):
        seconds = _play(config, tasks, execution)
    return ScaleFigures(seconds, max(samples))


def _private_megabytes(excluded: int) -> float:
    """Return the megabytes of private memory of this process and its descendants, except the process ``excluded``.

    Processes whose memory cannot be read are not counted.
    """
    children: defaultdict[int, list[int]] = defaultdict(list)
    for process, parent in parents().items():
        children[parent].append(process)
    pending, total = [os.getpid()], 0.0
    while pending:
        process = pending.pop()
        if process != excluded:
            with suppress(OSError):  # the process has ended, or only root may read it
                total += private_megabytes(process)
            pending += children[process]
    return total


@contextmanager
def _slow_model(answer_seconds: float) -> Iterator[int]:
    """Serve the model ``openai:slow`` until the block ends. Yield the server's process id."""
    command = [sys.executable, "-m", "tools.bench.slow_server", str(answer_seconds)]
    with subprocess.Popen(command, cwd=CLONE, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        with openai_at(int(server.stdout.readline())):
            try:
                yield server.pid
            finally:
                server.stdin.close()
