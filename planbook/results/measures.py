"""Results of episodes besides success: measures, milestones, and matches of goals with task types.

- A measure is a figure of an episode, computed by the environment, such as a game's reward (``Environment.measures``).
- A milestone is a step towards a goal (``Environment.milestones``).
- A match assigns a found type to the goal of a task. Found types are task types that planbook finds while it learns.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import exp, log1p
from statistics import fmean, stdev

from pydantic import BaseModel

from planbook.config import Config
from planbook.console import ALL
from planbook.envs import EnvsError, known_environment
from planbook.planner import Grid, Match
from planbook.results.rows import EpisodeResult, by_task
from planbook.results.statistics import wilson_over
from planbook.rules import FoundType
from planbook.wording import counted, format_number, interval


class Measure(BaseModel):
    """The mean of a figure over the played episodes, and its standard deviation (None for a single episode)."""

    mean: float
    sd: float | None
    episodes: int

    def __str__(self) -> str:
        deviation = "" if self.sd is None else f" ± {format_number(self.sd, 2)}"
        return f"{format_number(self.mean)}{deviation}"


MeasuresByType = Mapping[str, Mapping[str, Measure]]
"""Maps each task type to a dict from the names of measures to the measures."""
MilestoneCounts = Mapping[str, Mapping[str, tuple[int, int]]]
"""Maps each task type to a dict from milestones to (number of episodes that reached it, number of episodes)."""


def measures(rows: Sequence[EpisodeResult]) -> dict[str, dict[str, Measure]]:
    """Return a dict that maps each task type to its measures. Types without measures are left out.

    If several types have measures, the key ``all`` maps to the measures over all episodes.
    """
    types = sorted({row.type for row in rows})
    by_type = {task_type: _means(row for row in rows if row.type == task_type) for task_type in types}
    not_empty = {task_type: figures for task_type, figures in by_type.items() if figures}
    return {**not_empty, ALL: _means(rows)} if len(not_empty) > 1 else not_empty


def overall_measure(measures_by_type: MeasuresByType, name: str) -> Measure | None:
    """Return a measure over all task types, or None if the environment does not have this measure."""
    figures = measures_by_type.get(ALL) or next(iter(measures_by_type.values()), {})
    return figures.get(name)


def _means(rows: Iterable[EpisodeResult]) -> dict[str, Measure]:
    values: dict[str, list[float]] = {}
    for row in rows:
        if row.outcome.played:
            for name, value in row.ending.measures.items():
                values.setdefault(name, []).append(value)
    return {name: _measure(figures) for name, figures in values.items()}


def _measure(values: Sequence[float]) -> Measure:
    sd = round(stdev(values), 4) if len(values) > 1 else None
    return Measure(mean=round(fmean(values), 4), sd=sd, episodes=len(values))


def milestones(
    rows: Sequence[EpisodeResult], all_milestones: Sequence[str] = ()
) -> dict[str, dict[str, tuple[int, int]]]:
    """Count the episodes that reached each milestone.

    Only task types that are open-ended (see ``is_open_ended``), or whose tasks all have the same goal, are counted.
    Frequent milestones come first, because rare ones usually build on them. ``all_milestones`` lists the milestones of
    the environment, if they are the same for every task. If it is given, an open-ended type also has a count of 0 for
    every milestone that no episode reached.
    """
    by_type = {}
    for task_type in sorted({row.type for row in rows}):
        rows_of_type = [row for row in rows if row.type == task_type]
        seeks_all = is_open_ended(task_type, all_milestones)
        if seeks_all or len({row.entry.task.goal for row in rows_of_type}) == 1:
            counts = Counter(dict.fromkeys(all_milestones if seeks_all else (), 0))
            counts.update(name for row in rows_of_type for name in row.ending.milestones)
            by_type[task_type] = {name: (count, len(rows_of_type)) for name, count in counts.most_common()}
    return {task_type: counts for task_type, counts in by_type.items() if counts}


def is_open_ended(task_type: str, all_milestones: Sequence[str]) -> bool:
    """Return True if the goal of a task type is to reach as many milestones as possible."""
    return bool(all_milestones) and task_type not in all_milestones


def known_milestones(config: Config) -> tuple[str, ...]:
    """Return the milestones that all tasks of a run's environment share, or () if it has none or is not installed."""
    try:
        return known_environment(config.env).all_milestones
    except EnvsError:
        return ()


def unlock_score(shares: Iterable[float]) -> float:
    """Return the unlock score in percent (Hafner, 2022), given the share of episodes that reached each milestone.

    The score is a geometric mean, so the same increase counts more for a rare milestone than for a frequent one.
    """
    return exp(fmean(log1p(100 * share) for share in shares)) - 1


def total_unlock_score(milestone_counts: MilestoneCounts, all_milestones: Sequence[str]) -> float | None:
    """Return the unlock score over all episodes with an open-ended goal, or None if there are no such episodes."""
    open_ended = [counts for task_type, counts in milestone_counts.items() if is_open_ended(task_type, all_milestones)]
    episodes = sum(next(total for _, total in counts.values()) for counts in open_ended)
    if not episodes:
        return None
    return round(unlock_score(sum(counts[name][0] for counts in open_ended) / episodes for name in all_milestones), 2)


def measure_lines(measures_by_type: MeasuresByType) -> Iterable[str]:
    """Yield a line with the measures of each task type and, if ``measures_by_type`` has them, of all types together."""
    for task_type, figures in measures_by_type.items():
        values = ", ".join(f"{name} {figure}" for name, figure in figures.items())
        counts = sorted({figure.episodes for figure in figures.values()})
        over = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        yield f"Measured in {task_type}: {values}; over {over} {'episode' if over == '1' else 'episodes'}."


def milestone_parts(milestone_counts: MilestoneCounts, score: float | None) -> Iterator[Grid | str]:
    """Yield a line with the milestones of each task type. If there is a score, open-ended types get a table instead."""
    names = {name for counts in milestone_counts.values() for name in counts}
    for task_type, counts in milestone_counts.items():
        if score is not None and task_type not in names:
            shares = [
                (name, f"{count:,} / {total:,}", f"{count / total:.1%}") for name, (count, total) in counts.items()
            ]
            yield Grid(f"Reached in {task_type}", "milestone", ("episodes", "%"), shares)
        else:
            reached = ", ".join(f"{name} {count}/{total}" for name, (count, total) in counts.items())
            yield f"Reached in {task_type}: {reached}."
    if score is not None:
        yield f"Unlock score over all milestones: {score:.2f} %."


class Share(BaseModel):
    """``count`` of ``of`` tasks. ``low`` and ``high`` bound the 95 % confidence interval of their share, in percent."""

    count: int
    of: int
    low: float
    high: float

    @property
    def interval(self) -> str:
        """The confidence interval as text, such as "12.5% to 40.0%"."""
        return interval(self.low / 100, self.high / 100)


Matches = Sequence[tuple[EpisodeResult, Match]]
"""Episodes, each with the match of its goal."""


class MatchCounts(BaseModel):
    """Counts of played episodes by how their goals were matched. This is ``matches`` in the output of ``--json``.

    ``abstained`` counts tasks whose goals were not matched with any type. ``wrong`` counts tasks that were matched, but
    not solved by the procedure of the found type: the type or the parameters are wrong, or the procedure fails.
    """

    matched: Share
    abstained: Share
    wrong: Share
    solved_after: Share
    """Counts the wrong matches after which the planner solved the task without the procedure."""
    by: dict[str, int]
    """Maps the way in which goals were matched (pattern, words, model) to the number of matches."""


def count_matches(rows: Sequence[EpisodeResult]) -> MatchCounts | None:
    """Count the matches and abstentions of the played episodes, or return None if there was no goal to match."""
    matches = [(row, match) for row in rows if row.outcome.played and (match := row.match) is not None]
    if not matches:
        return None
    matched = [(row, match) for row, match in matches if match.type]
    wrong = [(row, match) for row, match in matched if match.failed or not row.solved]
    return MatchCounts(
        matched=_share(matched, matches),
        abstained=_share([(row, match) for row, match in matches if not match.type], matches),
        wrong=_share(wrong, matched),
        solved_after=_share([(row, match) for row, match in wrong if row.solved], wrong),
        by=dict(Counter(match.by for _, match in matched)),
    )


def _share(part: Matches, whole: Matches) -> Share:
    """Return the share of ``part`` in ``whole``. Its interval does not treat repeats of a task as independent."""
    indexes = {row.index for row, _ in part}
    return share([row.index in indexes for row in repeats] for repeats in by_task(row for row, _ in whole))


def share(cases: Iterable[Sequence[bool]]) -> Share:
    """Return the share of cases that are True. ``cases`` are in groups, within which they may be correlated."""
    groups = list(cases)
    low, high = wilson_over(groups)
    count, total = sum(map(sum, groups)), sum(map(len, groups))
    return Share(count=count, of=total, low=round(100 * low, 1), high=round(100 * high, 1))


def matches_table(counts: MatchCounts) -> Grid:
    """Return the counts as a table."""
    rows = [("matched with a type", counts.matched), ("abstained", counts.abstained), ("wrong matches", counts.wrong)]
    rows += [("solved after a wrong match, without the procedure", counts.solved_after)] if counts.wrong.count else []
    cells = [(name, str(part.count), str(part.of), part.interval) for name, part in rows]
    return Grid("goals and found types", "", ("tasks", "of", "95 % interval"), cells)


def versions_line(found: Sequence[FoundType], library: Sequence[FoundType]) -> str:
    """Return a line that counts the procedures that a run published for its found types, and the repairs among them.

    Procedures in ``library``, the found types with which the run began, are not counted.
    """
    before = {found_type.name: found_type for found_type in library}
    cases = []
    for found_type in found:
        old = before.get(found_type.name)
        versions = found_type.version - (old.version if old else 0)
        repairs = found_type.repairs - (old.repairs if old else 0)
        cases.append([number < repairs for number in range(versions)])
    repaired = share(cases)
    published = f"{counted(len(found), 'found type')}; {counted(repaired.of, 'version')} of procedures published"
    return f"{published}, {repaired.count} of them repairs (95 % interval {repaired.interval})."
