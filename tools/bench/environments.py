"""The speed at which planbook's own environments carry out the actions of stored procedures.

A procedure is stored plan code that solves a type of task. Its actions are recorded first, and then measured without
the sandbox and the database. Times are processor time, since an environment does all its work in this process.
"""

from collections.abc import Sequence
from statistics import median

from planbook.envs import Action, Environment, Selection, Task, load_environment
from planbook.manuals import ProcedureLibrary
from planbook.planner import Episode, EpisodeSettings, MemoryJournal, method, play
from planbook.sandbox import Sandbox
from planbook.wording import counted
from tools.bench import Row
from tools.bench.timing import cpu_seconds

ENVIRONMENTS = ("textcraft", "minecraft", "tabletop", "shopping", "crafter")
TASKS, REPEATS, SNAPSHOTS = 12, 20, 200
LONG_GAMES = {"crafter": (1, 1)}
"""Maps environments with slow starts and a thousand actions per game to their numbers of tasks and repeats."""
STEPS_GOAL, SNAPSHOT_GOAL = 10_000.0, 1_000.0
"""Minimum actions per second, and maximum microseconds for a snapshot and its restore."""
STEPS_GOALS = {"crafter": 1_000.0}
"""The minimum for environments whose actions another package carries out, together with all creatures of its world."""
Walk = tuple[Task, Sequence[Action]]
"""A task, and the actions that solve it."""


def rows() -> list[Row]:
    """Return each environment's actions per second, including resets, and the time of a snapshot and its restore."""
    return [row for name in ENVIRONMENTS for row in _rows_of(load_environment(name))]


def _rows_of(env: type[Environment]) -> list[Row]:
    environment, goal = env(), STEPS_GOALS.get(env.name, STEPS_GOAL)
    tasks, repeats = LONG_GAMES.get(env.name, (TASKS, REPEATS))
    walks = _walks(env, tasks)
    steps = repeats * sum(len(actions) for _, actions in walks)
    speed = steps / cpu_seconds(lambda: _walk_all(environment, walks, repeats))
    times = [
        cpu_seconds(lambda: [environment.restore(environment.snapshot()) for _ in range(SNAPSHOTS)]) for _ in range(5)
    ]
    micros = 1e6 * median(times) / SNAPSHOTS
    source = f"{counted(len(walks), 'task')} by procedures, {counted(repeats, 'time')}"
    at_least, at_most = f"at least {goal:,.0f}", f"at most {SNAPSHOT_GOAL:,.0f} us"
    return [
        Row(f"{env.name}: actions", speed, "/s", None, source, at_least, speed >= goal),
        Row(f"{env.name}: snapshot and restore", micros, "us", None, "", at_most, micros <= SNAPSHOT_GOAL),
    ]


def _walks(env: type[Environment], tasks: int) -> list[Walk]:
    """Play the first tasks of each type with the shipped procedures, and return the actions."""
    library, procedures = ProcedureLibrary(env), method("procedures")
    walks: list[Walk] = []
    with Sandbox() as sandbox:
        for task in env.select(Selection(limit=tasks)):
            settings = EpisodeSettings(actions=env.action_limit)
            episode = Episode(task, env(), sandbox, MemoryJournal(), settings=settings, memory=library)
            play(episode, procedures.play, procedures.options())
            walks.append((task, [step.action for step in episode.steps]))
    return walks


def _walk_all(env: Environment, walks: Sequence[Walk], repeats: int) -> None:
    for task, actions in [*walks] * repeats:
        env.reset(task)
        for action in actions:
            env.act(action)
