"""ALFWorld games replayed with the shipped procedures, as ``planbook replay`` does it: sandbox and store included."""

import tempfile
import time
from contextlib import closing
from pathlib import Path

from planbook.config import Config
from planbook.envs import MissingRequirement, Task, load_environment
from planbook.manuals import ProcedureLibrary
from planbook.planner import Ending
from planbook.runs import Run
from planbook.settings import Settings
from planbook.workers import Hosting, play_episodes
from tools.bench import Row

ENVIRONMENT, SPLIT = "alfworld", "train"
JOBS = 2
SCALED_TO = 3_553
"""Games that the split has where it is complete."""
GOAL_SECONDS = 90.0
GENERATED_A_TYPE = 50


def rows(limit: int | None = None) -> list[Row]:
    """Episodes a second and the seconds that all of train takes, or would take; ``limit`` is how many are played."""
    config, tasks = games(limit)
    seconds, solved = _replay(config, tasks)
    scaled = seconds / len(tasks) * SCALED_TO
    source = f"{len(tasks)} games of {tasks[0].split}, {JOBS} jobs"
    title = f"alfworld replay: {SCALED_TO:,} games" + ("" if len(tasks) == SCALED_TO else ", scaled")
    goal = f"at most {GOAL_SECONDS:g} s"
    return [
        Row("alfworld replay: episodes into the store", len(tasks) / seconds, "/s", None, source),
        Row(title, scaled, "s", None, source, goal, scaled <= GOAL_SECONDS),
        Row("alfworld replay: solved", 100 * solved / len(tasks), "%", None, source),
    ]


def games(limit: int | None) -> tuple[Config, list[Task]]:
    """Train, all of it, where its games are on this machine; else generated games."""
    environment = load_environment(ENVIRONMENT)
    count = f":{limit}" if limit else ""
    choices = [
        Settings.of(env=ENVIRONMENT, split=f"{SPLIT}{count}"),
        Settings.of(env=ENVIRONMENT, split=f"generated{count}", seeds=f"0-{GENERATED_A_TYPE - 1}"),
    ]
    for asked in choices:
        config = asked.config("procedures", {})
        try:
            return config, list(environment.tasks(config.selection, asked.environment_options()))
        except MissingRequirement:
            continue
    raise AssertionError("generated games need nothing but their package")


def _replay(config: Config, tasks: list[Task]) -> tuple[float, int]:
    """Wall clock of the whole run, its folder and its sandbox included, and how many games were solved."""
    endings: list[Ending] = []
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        with closing(Run.create(Path(folder) / "run", config, tasks)) as run:
            play_episodes(
                run,
                ProcedureLibrary(load_environment(ENVIRONMENT)),
                lambda _, ending: endings.append(ending),
                hosting=Hosting(jobs=JOBS),
            )
        seconds = time.perf_counter() - begun
    return seconds, sum(ending.outcome.solved for ending in endings)
