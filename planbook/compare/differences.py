"""Differences between two runs over pairs of the same tasks: in what was solved, what is measured, and what it cost."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from statistics import fmean
from typing import ClassVar, TypeVar

from pydantic import BaseModel, ConfigDict

from planbook.config import Config, by_dotted_name
from planbook.envs import texts_digest
from planbook.errors import BadArgument
from planbook.results import Result, RunResults
from planbook.results.statistics import (
    Estimate,
    Parts,
    holm,
    mcnemar,
    paired_difference,
    paired_t,
    ratio,
    ratio_difference,
    sign_flips,
)
from planbook.runs import without_folders
from planbook.sandbox import did_you_mean

MCNEMAR, SIGN_FLIPS = "McNemar, exact", "sign flips over tasks, exact"
BONETT_PRICE, OVER_TASKS = "Bonett and Price", "over tasks, each with its repeats"
NOISE = 0.05
"""From this p on a difference may be noise."""
SCORE = "score"
"""The environment's score, from 0 to 1; compared where it knows parts of a success and no measure equals it."""
TIME = "seconds"
COSTS: Mapping[str, Callable[[Result], float | None]] = {
    "model calls": lambda row: row.spent.calls,
    "tokens": lambda row: row.spent.tokens,
    "US dollars": lambda row: row.spent.money,
    "actions": lambda row: row.spent.actions,
    TIME: lambda row: row.seconds,
}
"""Costs by the names under which they are shown."""
Pair = tuple[Result, Result]
"""The same task, in two runs."""
Key = TypeVar("Key")


class Compared(BaseModel):
    """Base of the parts of ``compare --json``."""

    model_config = ConfigDict(frozen=True)


class TestedDifference(Compared):
    """A difference with the p of a test, None where there is no test."""

    p_corrected: float | None

    @property
    def is_told_apart(self) -> bool:
        """True if chance alone would seldom make so great a difference."""
        return self.p_corrected is not None and self.p_corrected < NOISE


class SolvedDifference(TestedDifference):
    """Second minus first, over some pairs; shares are fractions of all of them.

    ``p`` is that of ``test``: with several repeats of a task their pairs are not independent, and tasks are what is
    drawn and swapped. ``p_corrected`` is after Holm, where there are several.
    """

    tasks: int
    pairs: int
    first: int
    second: int
    """Solved."""
    gained: int
    lost: int
    difference: float
    low: float
    high: float
    interval: str
    p: float
    test: str
    p_corrected: float
    is_tested: ClassVar = True

    @property
    def more(self) -> int:
        """Number that the second run solved more."""
        return self.second - self.first


class MeasureDifference(TestedDifference):
    """Second minus first, over pairs that were both played and measured.

    By the t distribution over tasks, each with the mean of its repeats: interval and ``p`` are of one test and always
    agree. ``p_corrected`` is after Holm, the interval is not, and these two may disagree. All are None where they
    do not exist: for a single task, or where all tasks differ by exactly as much.
    """

    tasks: int
    pairs: int
    first: float
    second: float
    """Means."""
    difference: float
    low: float | None
    high: float | None
    p: float | None
    p_corrected: float | None

    @property
    def is_tested(self) -> bool:
        """True if a test could find anything: not if no task differs, or all by as much."""
        return self.low is not None and self.low != self.high


Difference = TypeVar("Difference", SolvedDifference, MeasureDifference)


class CostDifference(Compared):
    """A cost for each task solved: of the first run, of the second, and second minus first, over the same tasks.

    What was spent on tasks that were not solved is included. None where nothing was solved, or a price is unknown.
    Seconds have no bounds: drawing tasks again does not show how the clock varies from run to run on a busy machine.
    """

    first: Estimate
    second: Estimate
    difference: Estimate


def solved_difference(pairs: Sequence[Pair]) -> SolvedDifference:
    """Compare what was solved: how many more the second run solved, and the chance of as many by noise alone."""
    tasks = _by_task(pairs)
    gained = sum(gain(pair) == 1 for pair in pairs)
    lost = sum(gain(pair) == -1 for pair in pairs)
    p = mcnemar(gained, lost)
    low, high = paired_difference(gained, lost, len(pairs))
    repeated = len(tasks) < len(pairs)
    if repeated:
        p = sign_flips([sum(map(gain, each)) for each in tasks])
        low, high = _interval_over(tasks)
    return SolvedDifference(
        tasks=len(tasks),
        pairs=len(pairs),
        first=sum(one.solved for one, _ in pairs),
        second=sum(other.solved for _, other in pairs),
        gained=gained,
        lost=lost,
        difference=(gained - lost) / len(pairs),
        low=low,
        high=high,
        interval=OVER_TASKS if repeated else BONETT_PRICE,
        p=p,
        test=SIGN_FLIPS if repeated else MCNEMAR,
        p_corrected=p,
    )


def corrected(found: Mapping[Key, Difference]) -> dict[Key, Difference]:
    """Return them with each p corrected after Holm; those in which a test could find nothing do not count."""
    tested = {key: each.p for key, each in found.items() if each.is_tested and each.p is not None}
    chances = dict(zip(tested, holm(list(tested.values())), strict=True))
    return {key: each.model_copy(update={"p_corrected": chances.get(key, each.p)}) for key, each in found.items()}


def gain(pair: Pair) -> int:
    """Return 1 where only the second run solved it, -1 where only the first did, else 0."""
    return pair[1].solved - pair[0].solved


def _interval_over(tasks: Sequence[Sequence[Pair]]) -> tuple[float, float]:
    found = ratio([(sum(map(gain, pairs)), len(pairs)) for pairs in tasks])
    low, high = (-1.0 if found.low is None else found.low), (1.0 if found.high is None else found.high)
    return max(-1.0, low), min(1.0, high)


def _by_task(pairs: Iterable[Pair]) -> list[list[Pair]]:
    """Return the pairs of each task: several, where it was played several times."""
    found = defaultdict[tuple[str, int], list[Pair]](list)
    for pair in pairs:
        task = pair[0].entry.task
        found[task.id, task.seed].append(pair)
    return list(found.values())


def measure_differences(pairs: Sequence[Pair]) -> dict[str, MeasureDifference]:
    """Compare each measure over pairs that both were played; measures that no pair has are left out."""
    found = {}
    for name in dict.fromkeys(name for pair in pairs for side in pair for name in _values(side)):
        told = [pair for pair in pairs if all(name in _values(side) for side in pair)]
        if told and (name != SCORE or _says_more(pairs)):
            found[name] = _measure_difference(name, told)
    return corrected(found)


def _values(row: Result) -> dict[str, float]:
    return {SCORE: row.ending.verdict.score, **row.measures}


def _says_more(pairs: Sequence[Pair]) -> bool:
    """Return whether scores know parts of a success, and are not just a measure under another name."""
    every = [_values(side) for pair in pairs for side in pair]
    others = {name for each in every for name in each} - {SCORE}
    same = any(all(each.get(name) == each[SCORE] for each in every) for name in others)
    return any(0 < each[SCORE] < 1 for each in every) and not same


def _measure_difference(name: str, pairs: Sequence[Pair]) -> MeasureDifference:
    def mean(sides: Iterable[Result]) -> float:
        return fmean(_values(side)[name] for side in sides)

    tasks = [mean(other for _, other in each) - mean(one for one, _ in each) for each in _by_task(pairs)]
    low, high, p = paired_t(tasks)
    return MeasureDifference(
        tasks=len(tasks),
        pairs=len(pairs),
        first=mean(one for one, _ in pairs),
        second=mean(other for _, other in pairs),
        difference=fmean(tasks),
        low=low,
        high=high,
        p=p,
        p_corrected=p,
    )


def cost_differences(pairs: Sequence[Pair]) -> dict[str, CostDifference]:
    """Compare each cost for a task solved; costs that neither run had are left out."""
    names = [name for name, of in COSTS.items() if any(of(side) != 0 for pair in pairs for side in pair)]
    return {name: _cost_difference(pairs, name) for name in names}


def _cost_difference(pairs: Sequence[Pair], name: str) -> CostDifference:
    def part(row: Result) -> tuple[float, float]:
        spent = COSTS[name](row)
        return float("nan") if spent is None else spent, float(row.solved)

    first, second = _parts(pairs, lambda pair: part(pair[0])), _parts(pairs, lambda pair: part(pair[1]))
    found = [ratio(first), ratio(second), ratio_difference(first, second)]
    one, other, more = [Estimate(each.value, None, None) for each in found] if name == TIME else found
    return CostDifference(first=one, second=other, difference=more)


def _parts(pairs: Sequence[Pair], part: Callable[[Pair], tuple[float, float]]) -> Parts:
    """Return numerator and denominator of each task, summed over its pairs."""
    parts = [[part(pair) for pair in each] for each in _by_task(pairs)]
    return [(sum(above for above, _ in each), sum(below for _, below in each)) for each in parts]


UNSET = "-"
VERSION = "version of "
LONGEST = 60
"""Characters of a setting that are shown; of a longer one, such as a plan, the beginning and a digest."""


class SettingDifference(Compared):
    """A setting in which two runs differ; ``-`` where one does not have it at all."""

    name: str
    first: str
    second: str


def settings(config: Config) -> dict[str, str]:
    """Return all settings by their dotted names, as text; of files the names alone."""
    return dict(by_dotted_name(without_folders(config).model_dump(mode="json")))


def differing_settings(one: RunResults, other: RunResults) -> tuple[SettingDifference, ...]:
    """Return what differs between two runs: settings first, then versions."""
    found = [*_different(settings(one.run.config), settings(other.run.config))]
    versions = _different(one.run.versions | one.versions, other.run.versions | other.versions)
    return (*found, *(each.model_copy(update={"name": f"{VERSION}{each.name}"}) for each in versions))


def in_short(value: str) -> str:
    """Return a setting on one line, a long one with its length and a digest, by which two can be told apart."""
    if len(value) <= LONGEST and "\n" not in value:
        return value
    begin = " ".join(value[:LONGEST].split())
    return f"{begin} ... ({len(value):,} characters, SHA-256 {texts_digest([value])[:8]})"


def _different(one: Mapping[str, str], other: Mapping[str, str]) -> Iterator[SettingDifference]:
    for name in dict.fromkeys([*one, *other]):
        first, second = one.get(name, UNSET), other.get(name, UNSET)
        if first != second:
            yield SettingDifference(name=name, first=first, second=second)


def setting(config: Config, name: str) -> str:
    """Return a setting by its full name."""
    return settings(config).get(name, UNSET)


def full_name(asked: str, configs: Iterable[Config]) -> str:
    """Return the full name of a setting that some run has; a unique end of it is enough. Raises BadArgument."""
    known = dict.fromkeys(name for config in configs for name in (*settings(config), *Config.model_fields))
    if asked in known:
        return asked
    ends = [name for name in known if name.endswith(f".{asked}")]
    if len(ends) > 1:
        raise BadArgument(f"{asked!r} could be {' or '.join(sorted(ends))}; write one of them")
    if not ends:
        raise BadArgument(f"no run has a setting {asked!r}{did_you_mean(asked, sorted(known))}")
    return ends[0]


def wanted(asked: Sequence[str]) -> dict[str, str]:
    """Parse NAME=VALUE, several with commas. Raises BadArgument."""
    pairs = [pair.partition("=") for text in asked for pair in text.split(",") if pair]
    if wrong := [name for name, equals, _ in pairs if not (name and equals)]:
        raise BadArgument(f"--where {wrong[0]!r}: write NAME=VALUE, such as planner=adapt")
    return {name: value for name, _, value in pairs}
