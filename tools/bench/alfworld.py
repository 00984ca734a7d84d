"""The speed of our engine for ALFWorld's games, compared with textworld, the package that ALFWorld itself uses.

Both engines get the same commands on the same games. Times are processor time of this process, in which both
engines do all their work, so a busy machine does not affect them.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from random import Random
from statistics import median

from planbook.envs import MissingRequirement
from planbook.envs.alfworld import TYPES, AlfworldGame, DirectEngine, GameEngine, ReferenceEngine, generated, tasks
from tools.bench import Row
from tools.bench.timing import cpu_seconds

GAMES_PER_TYPE = 1
STEPS = 15
"""Number of commands in each game. After each command, the engine lists the admissible commands."""
ROUNDS = 20
"""Number of times that our engine plays each game: a single time would be too short to measure."""
GOAL = 500.0


@dataclass
class GameTimes:
    """The seconds that one engine takes for each game: to load and reset it, and on average for a step."""

    loads: list[float] = field(default_factory=list)
    steps: list[float] = field(default_factory=list)


def rows() -> list[Row]:
    """Return the time of loading and resetting a game and the steps per second, for both engines, with the ratios."""
    games, source = _games()
    scripts = [_script(game) for game in games]
    direct, reference = GameTimes(), GameTimes()
    engines: list[tuple[GameEngine, GameTimes, int]] = [
        (DirectEngine(), direct, ROUNDS),
        (ReferenceEngine(), reference, 1),
    ]
    for engine, times, rounds in engines:
        for game, script in zip(games, scripts, strict=True):
            _measure(engine, game, script, times, rounds)
        engine.close()
    against = f"textworld, {len(games)} {source} games"
    return [*_load_rows(direct, reference, against), *_step_rows(direct, reference, against)]


def _games() -> tuple[list[AlfworldGame], str]:
    """Return games of each type and the name of their split. They are generated unless real games are installed."""
    for split in tasks.DATA_SPLITS:
        try:
            by_type = tasks.list_games(split)
        except MissingRequirement:
            continue
        return [tasks.read_game(game_id) for ids in by_type.values() for game_id in ids[:GAMES_PER_TYPE]], split
    return [generated.make_game(kind, seed) for kind in TYPES for seed in range(GAMES_PER_TYPE)], generated.SPLIT


def _script(game: AlfworldGame) -> list[str]:
    """Return a sequence of random admissible commands. At least about half of them are not ``go to``."""
    engine, rng = DirectEngine(), Random(game.id)
    engine.load(game)
    engine.reset()
    commands = []
    for _ in range(STEPS):
        admissible = engine.admissible()
        handling = [command for command in admissible if not command.startswith("go to")]
        commands.append(rng.choice(handling if rng.random() < 0.5 else admissible))
        engine.step(commands[-1])
    return commands


def _measure(engine: GameEngine, game: AlfworldGame, script: list[str], times: GameTimes, rounds: int) -> None:
    def load() -> None:
        engine.load(game)
        engine.reset()

    def walk() -> None:
        for command in script:
            engine.step(command)
            engine.admissible()

    times.loads.append(_seconds(load, rounds))
    times.steps.append(_seconds(walk, rounds) / len(script))


def _seconds(work: Callable[[], object], rounds: int) -> float:
    return cpu_seconds(lambda: [work() for _ in range(rounds)]) / rounds


def _load_rows(direct: GameTimes, reference: GameTimes, against: str) -> list[Row]:
    direct_seconds, reference_seconds = median(direct.loads), median(reference.loads)
    comparison = _comparison(reference_seconds / direct_seconds, against)
    return [
        Row("alfworld direct: load + reset", direct_seconds * 1e3, "ms", *comparison),
        Row("alfworld textworld: load + reset", reference_seconds * 1e3, "ms"),
    ]


def _step_rows(direct: GameTimes, reference: GameTimes, against: str) -> list[Row]:
    direct_rate, reference_rate = 1 / median(direct.steps), 1 / median(reference.steps)
    return [
        Row("alfworld direct: steps", direct_rate, "/s", *_comparison(direct_rate / reference_rate, against)),
        Row("alfworld textworld: steps", reference_rate, "/s"),
    ]


def _comparison(ratio: float, against: str) -> tuple[float, str, str, bool]:
    """Return the fields ``ratio``, ``against``, ``goal`` and ``met`` of a row."""
    return ratio, against, f"at least {GOAL:.0f} times as fast", ratio >= GOAL
