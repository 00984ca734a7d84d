"""A comparison of selectors, which choose the next of several goals, in Minecraft tasks that allow any order.

The experiment is that of the DEPS paper (section 4.3.1 and figure 4), without a language model. All selectors play the
same maps, from which the predictor of the selector ``horizon`` has not learned. No selector is told the length of an
episode. So each game is played once, to its end, and counts as won for every length that suffices.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.metadata import version
from math import sqrt
from statistics import fmean, stdev

from planbook.envs import Action, Features
from planbook.envs.minecraft import HORIZONS_FILE, VERSION, Minecraft, MinecraftOptions, tasks
from planbook.planner.strategies.deps.selectors import Candidate, SelectorName, selector_of
from planbook.results.statistics import Z_95, mcnemar, paired_difference, wilson
from tools import horizons
from tools.bench import Row
from tools.bench.timing import seconds
from tools.record_goals import SEEDS as TRAINING_SEEDS, is_possible

SEEDS = range(300)
LENGTHS = (600, 1000, 1500, 2000)
"""The lengths of an episode for which success rates are computed, in ticks (time steps of the game)."""
JUDGED_LENGTH = 1000
"""The length for which the gain should be above 0. The paper calls such episodes limited."""
SELECTORS: tuple[SelectorName, ...] = ("fixed", "random", "horizon", "nearest")
OURS: SelectorName = "horizon"
RIVALS: tuple[SelectorName, ...] = ("fixed", "random")
PUBLISHED: Mapping[str, float] = {"parallel_2": 22.3, "parallel_3": 29.2, "parallel_4": 32.6}
"""Maps task types to the percentage points by which the paper's selector beats its fixed sequence."""
ROUTES, LOGS = "3 log, from any tree", 3
ROUTE_LENGTHS, JUDGED_ROUTE_LENGTH = (200, 400, 600), 400
FIT_GOAL, PREDICT_GOAL = 2.0, 1.0
"""Maximum seconds for learning from all records, and maximum milliseconds for predicting four goals."""
ENDLESS = 20_000
"""The length of a game in ticks, more than any game takes. It also counts as the end of a lost game."""
EndTicks = Mapping[SelectorName, Sequence[float]]
"""Maps each selector to the ticks at which it won its games, in the order of the seeds."""


def rows(seeds: Sequence[int] = SEEDS) -> list[Row]:
    """Return success rates, gains of the learned selector, and ticks per game. A hundred seeds are enough."""
    records = list(horizons.recorded_rows(HORIZONS_FILE))
    figures = _conditions(seeds, len(records)) + _predictor(records)
    for kind, count in tasks.PARALLEL.items():
        ends = _end_ticks(seeds, partial(_start_parallel_game, kind))
        figures += _rows(f"{count} goals", ends, LENGTHS, JUDGED_LENGTH, PUBLISHED[kind])
    return figures + _rows(ROUTES, _end_ticks(seeds, _start_routes_game), ROUTE_LENGTHS, JUDGED_ROUTE_LENGTH)


def _conditions(seeds: Sequence[int], records: int) -> list[Row]:
    lines = [
        f"worlds of seeds {seeds[0]} to {seeds[-1]}, recipes of Minecraft {VERSION}",
        f"learned from {records:,} goals of seeds {TRAINING_SEEDS[0]} to {TRAINING_SEEDS[-1]}, "
        f"scikit-learn {version('scikit-learn')}",
        f"fixed: the order in which the task names its goals; for {ROUTES}: an oak",
        "nearest: the oracle, which gets the distance of each goal from the world",
        "differences: by world, with the worlds that only one of the two won, and p by McNemar's test",
        "CLIP and MineCLIP selectors: left out, they need images",
        f"the paper's - fixed: its text names no length for these gains; they stand at {JUDGED_LENGTH} ticks",
    ]
    return [Row(line, None, "") for line in lines]


def _predictor(records: Sequence[tuple[Features, float]]) -> list[Row]:
    """Return the minimum times of learning and predicting. Longer times are the effect of other processes."""
    predictor, four = horizons.fit(records), [features for features, _ in records[:4]]
    fit = min(seconds(lambda: horizons.fit(records)) for _ in range(3))
    predict = 1e3 * min(seconds(lambda: predictor.predict(four)) for _ in range(50))
    return [
        Row("predictor: learning", fit, "s", goal=f"at most {FIT_GOAL:g} s", met=fit <= FIT_GOAL),
        Row("predictor: four goals", predict, "ms", goal=f"at most {PREDICT_GOAL:g} ms", met=predict <= PREDICT_GOAL),
    ]


StartGame = Callable[[int], tuple[Minecraft, list[list[Action]]]]
"""Starts the game of a seed. Returns the environment and the goals, each a list of actions, any of which reaches it."""


def _end_ticks(seeds: Sequence[int], start_game: StartGame) -> EndTicks:
    by_seed = [[_end_tick(*start_game(seed), name, seed) for name in SELECTORS] for seed in seeds]
    return dict(zip(SELECTORS, zip(*by_seed, strict=True), strict=True))


def _end_tick(environment: Minecraft, goals: list[list[Action]], name: SelectorName, seed: int) -> float:
    """Play a game. Return the tick at which the last goal was reached, or ``ENDLESS`` if a goal was not reached.

    Actions that the environment would refuse are not offered to the selector, since trying one takes no time.
    """
    selector = selector_of(environment.goals, name, f"bench/{seed}")
    while goals:
        routes = [(index, act) for index, acts in enumerate(goals) for act in acts if is_possible(environment, act)]
        if not routes:
            return ENDLESS
        candidates = [Candidate(number, act) for number, (_, act) in enumerate(routes)]
        chosen = selector.choose(environment.goals, candidates).chosen
        if not environment.act(chosen.action).accepted:
            return ENDLESS
        goals.pop(routes[chosen.position][0])
    return environment.player.spot.tick


def _start_parallel_game(kind: str, seed: int) -> tuple[Minecraft, list[list[Action]]]:
    task = tasks.parallel_task(kind, seed)
    environment = Minecraft(MinecraftOptions(ticks=ENDLESS))
    environment.reset(task)
    return environment, [[goal] for goal in tasks.parallel_goals(task)]


def _start_routes_game(seed: int) -> tuple[Minecraft, list[list[Action]]]:
    """Start a game with one goal: logs from any kind of tree. The first action, with a plain log, means an oak."""
    environment = Minecraft(MinecraftOptions(ticks=ENDLESS))
    environment.reset(tasks.single_task("planks", seed))
    return environment, [list(environment.goals.routes(Action("mine", ({"log": LOGS}, None))))]


def _rows(name: str, ends: EndTicks, lengths: Sequence[int], judged: int, published: float | None = None) -> list[Row]:
    rows = []
    for length in lengths:
        won = {selector: [end <= length for end in ends[selector]] for selector in SELECTORS}
        line = f"{name}, {length} ticks"
        rows += [_rate((line, selector), won[selector]) for selector in SELECTORS]
        rows += [_gain((line, f"{OURS} - {rival}"), won[OURS], won[rival], length == judged) for rival in RIVALS]
        if length == judged and published:
            rows.append(_row((line, "the paper's - fixed"), published, "points"))
    line = f"{name}, ticks of a game"
    rows += [_mean((line, selector), ends[selector]) for selector in SELECTORS]
    for rival in RIVALS:
        differences = [our_end - rival_end for our_end, rival_end in zip(ends[OURS], ends[rival], strict=True)]
        rows.append(_mean((line, f"{OURS} - {rival}"), differences))
    return rows


def _row(cell: tuple[str, str], value: float, unit: str) -> Row:
    return Row(": ".join(cell), value, unit, cell=cell)


def _rate(cell: tuple[str, str], won: Sequence[bool]) -> Row:
    return replace(_row(cell, 100 * fmean(won), "%"), interval=_percent(wilson(sum(won), len(won))))


def _gain(cell: tuple[str, str], our_wins: Sequence[bool], rival_wins: Sequence[bool], judged: bool) -> Row:
    """Return the gain in percentage points. ``against`` counts the maps on which only one of the two won."""
    pairs = list(zip(our_wins, rival_wins, strict=True))
    gained, lost = pairs.count((True, False)), pairs.count((False, True))
    interval = _percent(paired_difference(gained, lost, len(pairs)))
    return replace(
        _row(cell, 100 * (gained - lost) / len(pairs), "points"),
        interval=interval,
        against=f"{gained} : {lost}, p={mcnemar(gained, lost):.1g}",
        goal="above 0" if judged else "",
        met=interval[0] > 0 if judged else None,
    )


def _mean(cell: tuple[str, str], values: Sequence[float]) -> Row:
    mean, margin = fmean(values), Z_95 * stdev(values) / sqrt(len(values))
    return replace(_row(cell, mean, "ticks"), interval=(mean - margin, mean + margin))


def _percent(interval: tuple[float, float]) -> tuple[float, float]:
    return 100 * interval[0], 100 * interval[1]
