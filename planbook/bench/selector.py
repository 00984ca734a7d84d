"""Selectors on goals that may be done in any order, without any language model (DEPS, section 4.3.1 and figure 4).

All selectors play the same worlds, none of which the predictor has learnt from. No selector sees how long an episode
is, so each game is played to its end once, and counts for an episode of any length that it would have fitted into.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.metadata import version
from statistics import fmean

from envs import Action
from envs.minecraft import tasks
from envs.minecraft.options import MinecraftOptions
from envs.minecraft.recording import SEEDS as TRAINED_ON
from envs.minecraft.selecting import RECORDED
from envs.minecraft.world import Minecraft
from planbook.bench import Row
from planbook.bench.timing import seconds
from planbook.statistics import mcnemar, mean_interval, paired_difference, wilson
from planner.horizon import HorizonPredictor
from planner.selectors import Candidate, SelectorName, recorded_rows, selector_of

SEEDS = range(300)
LENGTHS = (600, 1000, 1500, 2000)
"""Ticks of an episode."""
JUDGED = 1000
"""The length at which the goals of this benchmark are set: what the paper calls a limited one."""
SELECTORS: tuple[SelectorName, ...] = ("fixed", "random", "horizon", "nearest")
OURS, RIVALS = "horizon", ("fixed", "random")
PUBLISHED: Mapping[str, float] = {"parallel_2": 22.3, "parallel_3": 29.2, "parallel_4": 32.6}
"""Points by which the paper's selector beats its fixed sequence."""
ROUTES, LOGS, ROUTE_LENGTHS = "3 log, from any tree", 3, (200, 400, 600)
FIT_GOAL, PREDICT_GOAL = 2.0, 1.0
"""Seconds to learn from all records, and milliseconds to predict for four goals."""
ENDLESS = 20_000
"""Ticks that no game takes; a lost one counts as if it had."""
Ends = Mapping[str, Sequence[float]]
"""By selector, the ticks after which each seed's game was won."""


def rows(seeds: Sequence[int] = SEEDS) -> list[Row]:
    """Success rates, what the learnt selector gains, and the ticks that games take; a hundred seeds tell them apart."""
    found = _what_is_compared(seeds) + _predictor()
    games = {kind: _ends(seeds, lambda seed, kind=kind: _parallel(kind, seed)) for kind in tasks.PARALLEL}
    for kind, ends in games.items():
        paper = f"paper: {PUBLISHED[kind]:+.1f} points over a fixed sequence"
        found += _compared(f"{tasks.PARALLEL[kind]} goals", ends, LENGTHS, JUDGED, paper)
    found += _compared(ROUTES, _ends(seeds, _routes), ROUTE_LENGTHS, ROUTE_LENGTHS[1])
    return found


def _what_is_compared(seeds: Sequence[int]) -> list[Row]:
    with RECORDED.open(encoding="utf-8") as file:
        learnt = sum(not line.startswith("#") for line in file) - 1
    told = [
        f"worlds of seeds {seeds[0]} to {seeds[-1]}; learnt from {learnt:,} goals of seeds "
        f"{TRAINED_ON.start} to {TRAINED_ON.stop - 1}; scikit-learn {version('scikit-learn')}, "
        + ", ".join(f"{name} {value}" for name, value in Minecraft().versions().items() if name == "recipes"),
        "nearest is the oracle: it is told by the world how far each goal is",
        "CLIP and MineCLIP selectors are left out: they need images",
    ]
    return [Row(text, None, "") for text in told]


def _predictor() -> list[Row]:
    """How long learning and predicting take: the fastest of some times, since others can only slow them down."""
    learnt = list(recorded_rows(RECORDED))
    predictor = HorizonPredictor.fit(learnt)
    four = [features for features, _ in learnt[:4]]
    fit = min(seconds(lambda: HorizonPredictor.fit(learnt)) for _ in range(3))
    predict = 1e3 * min(seconds(lambda: predictor.predict(four)) for _ in range(50))
    return [
        Row("predictor: learning", fit, "s", goal=f"at most {FIT_GOAL:g} s", met=fit <= FIT_GOAL),
        Row("predictor: four goals", predict, "ms", goal=f"at most {PREDICT_GOAL:g} ms", met=predict <= PREDICT_GOAL),
    ]


# Playing.

Game = Callable[[int], tuple[Minecraft, list[list[Action]]]]
"""Begins the world of a seed; what is to be done, each with the ways to do it that are compared."""


def _ends(seeds: Sequence[int], game: Game) -> Ends:
    of_seeds = [[_end(*game(seed), name, seed) for name in SELECTORS] for seed in seeds]
    return dict(zip(SELECTORS, zip(*of_seeds, strict=True), strict=True))


def _end(world: Minecraft, goals: list[list[Action]], name: SelectorName, seed: int) -> float:
    """The tick at which the last goal was reached; ``ENDLESS`` if one was not.

    Ways that the world refuses are left out: trying one takes no time.
    """
    selector = selector_of(world.goals, name, f"bench/{seed}")
    while goals:
        ways = [(place, way) for place, ways in enumerate(goals) for way in ways if not world.goals.refusal(way)]
        if not ways:
            return ENDLESS
        chosen = selector.choose(world.goals, [Candidate(number, way) for number, (_, way) in enumerate(ways)]).chosen
        if not world.act(chosen.action).accepted:
            return ENDLESS
        goals.pop(ways[chosen.place][0])
    return world.body.spot.tick


def _parallel(kind: str, seed: int) -> tuple[Minecraft, list[list[Action]]]:
    task = tasks.parallel_task(kind, seed, None)
    world = Minecraft(MinecraftOptions(ticks=ENDLESS))
    world.reset(task)
    return world, [[goal] for goal in tasks.parallel_goals(task)]


def _routes(seed: int) -> tuple[Minecraft, list[list[Action]]]:
    """One goal, any kind of tree; the bare log, which comes first, is an oak's."""
    world = Minecraft(MinecraftOptions(ticks=ENDLESS))
    world.reset(tasks.single_task("planks", seed))
    return world, [list(world.goals.routes(Action("mine", ({"log": LOGS}, None))))]


# Comparing.


def _compared(name: str, ends: Ends, lengths: Sequence[int], judged: int, paper: str = "") -> Iterator[Row]:
    for length in lengths:
        won = {selector: [end <= length for end in ends[selector]] for selector in SELECTORS}
        for selector in SELECTORS:
            yield _rate(f"{name}, {length} ticks: {selector}", won[selector])
        for rival in RIVALS:
            title = f"{name}, {length} ticks: {OURS} - {rival}"
            yield _gain(title, won[OURS], won[rival], length == judged, paper if rival == "fixed" else "")
    for selector in SELECTORS:
        yield _mean(f"{name}, ticks to the end: {selector}", ends[selector])
    for rival in RIVALS:
        less = [ours - theirs for ours, theirs in zip(ends[OURS], ends[rival], strict=True)]
        yield _mean(f"{name}, ticks to the end: {OURS} - {rival}", less)


def _rate(name: str, won: Sequence[bool]) -> Row:
    low, high = wilson(sum(won), len(won))
    return Row(name, 100 * sum(won) / len(won), "%", interval=(100 * low, 100 * high))


def _gain(name: str, ours: Sequence[bool], theirs: Sequence[bool], judged: bool, paper: str) -> Row:
    """How many points more games are won; the same world counts as a pair."""
    gained = sum(our and not their for our, their in zip(ours, theirs, strict=True))
    lost = sum(their and not our for our, their in zip(ours, theirs, strict=True))
    low, high = paired_difference(gained, lost, len(ours))
    against = f"{gained} worlds won, {lost} lost, McNemar p = {mcnemar(gained, lost):.2g}"
    return Row(
        name,
        100 * (gained - lost) / len(ours),
        "points",
        against=f"{against}; {paper}" if paper else against,
        goal="interval above 0" if judged else "",
        met=low > 0 if judged else None,
        interval=(100 * low, 100 * high),
    )


def _mean(name: str, values: Sequence[float]) -> Row:
    return Row(name, fmean(values), "ticks", interval=mean_interval(values))
