"""The speed of ``planbook replay`` on ALFWorld's games, including the sandbox and the database.

The games are played with stored procedures: plan code that solves a type of task.
"""

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
from planbook.workers import Execution, play_episodes
from tools.bench import Row

ENVIRONMENT, SPLIT = "alfworld", "train"
JOBS = 2
ALL_GAMES = 3_553
"""The number of games in the complete training split."""
GOAL_SECONDS = 90.0
GENERATED_PER_TYPE = 50


def rows(limit: int | None = None) -> list[Row]:
    """Return the episodes per second, the seconds for the complete training split, and the share of solved games.

    If ``limit`` restricts the number of games, the seconds are scaled up.
    """
    config, tasks = config_and_tasks(limit)
    seconds, solved = _replay(config, tasks)
    scaled = seconds / len(tasks) * ALL_GAMES
    source = f"{len(tasks)} games of {tasks[0].split}, {JOBS} jobs"
    title = f"alfworld replay: {ALL_GAMES:,} games" + ("" if len(tasks) == ALL_GAMES else ", scaled")
    goal = f"at most {GOAL_SECONDS:g} s"
    return [
        Row("alfworld replay: episodes into the store", len(tasks) / seconds, "/s", None, source),
        Row(title, scaled, "s", None, source, goal, scaled <= GOAL_SECONDS),
        Row("alfworld replay: solved", 100 * solved / len(tasks), "%", None, source),
    ]


def config_and_tasks(limit: int | None) -> tuple[Config, list[Task]]:
    """Return a run's configuration and tasks. They are generated unless the training games are installed."""
    environment = load_environment(ENVIRONMENT)
    count = f":{limit}" if limit else ""
    choices = [
        Settings.of(env=ENVIRONMENT, split=f"{SPLIT}{count}"),
        Settings.of(env=ENVIRONMENT, split=f"generated{count}", seeds=f"0-{GENERATED_PER_TYPE - 1}"),
    ]
    for settings in choices:
        config = settings.config("procedures", {})
        try:
            return config, list(environment.tasks(config.selection, settings.environment_options()))
        except MissingRequirement:
            continue
    raise AssertionError("generated games need nothing but their package")


def _replay(config: Config, tasks: list[Task]) -> tuple[float, int]:
    """Return the seconds of a whole run, including the creation of its folder and sandbox, and the solved games."""
    endings: list[Ending] = []
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        with closing(Run.create(Path(folder) / "run", config, tasks)) as run:
            play_episodes(
                run,
                ProcedureLibrary(load_environment(ENVIRONMENT)),
                lambda _, ending: endings.append(ending),
                execution=Execution(jobs=JOBS),
            )
        seconds = time.perf_counter() - start
    return seconds, sum(ending.outcome.solved for ending in endings)
