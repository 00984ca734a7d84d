"""What many episodes at once gain, and what memory they take: threads, worker processes and, where it is there, Ray."""

import importlib.util
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path

from envs import Task
from planbook.arguments import Asked
from planbook.bench import Row
from planbook.bench.replay import games
from planbook.config import Config
from planbook.episodes.distributed import play_distributed
from planbook.episodes.lanes import Executor, Hosting
from planbook.episodes.role_models import check_roles
from planbook.episodes.runner import run_tasks
from planbook.learning.knowing import memory_of
from planbook.run import Run

GAMES = 800
GOAL_PROCESSES, GOAL_IN_FLIGHT = 1.8, 25.0
CORES = 2
JOBS = CORES + 1
"""One more than there are cores: none of them waits while a plan's process wakes up."""
ANSWER_SECONDS = 2.0
IN_FLIGHT, ALONE = 32, 3
ROUNDS = 3
"""How many episodes each of those in flight plays after the other; one by one, ``ALONE`` are played in all."""
SAMPLE_SECONDS = 0.25


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
    alone = _play(config, tasks, Hosting(1))
    spread = (_busy_seconds() - before) / CORES
    found = [
        Row("replay: threads, 1 job", alone, "s", None, source),
        Row(
            f"replay: the processor time of that, over {CORES} cores", spread, "s", alone / spread, "the most there is"
        ),
    ]
    for executor in executors():
        taken = _play(config, tasks, Hosting(JOBS, executor=executor))
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
        config = Asked(env="toy", types="fetch", seeds="0", models=("openai:slow",)).config("automanual")
        check_roles(config)  # the SDK is imported beforehand
        tasks = config.world.select(config.selection)
        alone = _weighed(config, tasks * ALONE, Hosting(1), spared)
        together = _weighed(config, tasks * IN_FLIGHT * ROUNDS, Hosting(IN_FLIGHT), spared)
        each, beside = alone.seconds / ALONE, together.seconds / (IN_FLIGHT * ROUNDS)
        against, goal = f"{ALONE} one by one", f"at least {GOAL_IN_FLIGHT:g} times as fast"
        ratio = each / beside
        found = [
            Row(f"waiting {answer_seconds:g} s an answer: an episode, one by one", each, "s"),
            Row(f"the same, {IN_FLIGHT} in flight", beside, "s", ratio, against, goal, ratio >= GOAL_IN_FLIGHT),
            _memory("threads", alone, together),
        ]
        for executor in executors():
            several = _weighed(config, tasks * IN_FLIGHT, Hosting(IN_FLIGHT, executor=executor), spared)
            found.append(_memory(executor, alone, several))
        return found


def _memory(executor: Executor, alone: "Played", together: "Played") -> Row:
    more = (together.megabytes - alone.megabytes) / (IN_FLIGHT - 1)
    against = f"{together.megabytes:,.0f} MB for {IN_FLIGHT} jobs, {alone.megabytes:,.0f} MB for one in threads"
    return Row(f"private memory a job: {executor}", more, "MB", None, against)


class Played:
    """How long a run took, and the most private memory that this process and those below it had at a time.

    The memory of a process that is ``spared`` does not count.
    """

    def __init__(self, seconds: float, megabytes: float) -> None:
        self.seconds, self.megabytes = seconds, megabytes


def _play(config: Config, tasks: Sequence[Task], hosting: Hosting) -> float:
    """The seconds that it takes to play a run in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder, closing(Run.create(Path(folder) / "run", config, tasks)) as run:
        begun = time.perf_counter()
        if hosting.executor == "threads":
            run_tasks(run, memory_of(config), lambda entry, ending: None, hosting=hosting)
        else:
            play_distributed(run, lambda entry, ending: None, hosting)
        return time.perf_counter() - begun


def _weighed(config: Config, tasks: Sequence[Task], hosting: Hosting, spared: int) -> "Played":
    """The same, with a look at the memory now and then, which takes time itself."""
    with _watched(spared) as peak:
        seconds = _play(config, tasks, hosting)
    return Played(seconds, max(peak))


@contextmanager
def _watched(spared: int) -> Iterator[list[float]]:
    over, found = threading.Event(), [private_megabytes(spared)]

    def watch() -> None:
        while not over.wait(SAMPLE_SECONDS):
            found.append(private_megabytes(spared))

    thread = threading.Thread(target=watch, daemon=True)
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join()


def private_megabytes(spared: int = 0) -> float:
    """Memory that this process and all below it share with nobody."""
    below: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            below.setdefault(_parent(entry), []).append(int(entry.name))
    left, found = [os.getpid()], 0.0
    while left:
        process = left.pop()
        if process != spared:
            found += _private(process)
            left += below.get(process, [])
    return found


def _parent(entry: Path) -> int:
    try:
        return int((entry / "stat").read_text().rpartition(")")[2].split()[1])
    except OSError:
        return 0  # it ended meanwhile


def _private(process: int) -> float:
    try:
        lines = Path(f"/proc/{process}/smaps_rollup").read_text().splitlines()
    except OSError:
        return 0.0
    return sum(int(line.split()[1]) for line in lines if line.startswith("Private_")) / 1024


@contextmanager
def _slow_model(answer_seconds: float) -> Iterator[int]:
    """A server for ``openai:slow``, and its process."""
    command = [sys.executable, "-m", "planbook.bench.slow_server", str(answer_seconds)]
    before = {name: os.environ.get(name) for name in ("OPENAI_BASE_URL", "OPENAI_API_KEY")}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdin is not None
        assert server.stdout is not None
        os.environ["OPENAI_BASE_URL"] = f"http://127.0.0.1:{int(server.stdout.readline())}/v1"
        os.environ["OPENAI_API_KEY"] = "none"
        try:
            yield server.pid
        finally:
            server.stdin.close()
            for name, value in before.items():
                os.environ.pop(name)
                if value is not None:
                    os.environ[name] = value
