"""Bars: success and causes of failure by task type, the actions that episodes took, and who was asked."""

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from planbook.outcomes import UNPLAYED, in_words
from planbook.planner import Outcome
from planbook.report.charts.chart import (
    BAR_WIDTH,
    PERCENT,
    Axis,
    Chart,
    colour,
    layout,
    lying,
    plain,
    stacked,
    tall,
    whole,
)
from planbook.report.charts.shares import Share, error_bars
from planbook.results import Result, RunResults
from planbook.wording import counted

ALL = "all"
OUTCOME_COLOURS = {Outcome.DIRECT_SUCCESS.value: "--good", Outcome.INDIRECT_SUCCESS.value: "--mixed"}
NOT_PLAYED_COLOUR = "--rule"
"""Of what says nothing of the method: not run, or broken."""
CAUSE_COLOURS = ("--bad", "--c1", "--c5", "--c4", "--c3", "--c6", "--c0", "--c7")
MOST_BINS = 24
"""Of a distribution."""


def success(runs: Sequence[RunResults], first: int = 0) -> Chart:
    """The share solved of each task type with its interval, the runs beside each other; the last is that of all.

    A run that has no task of a type takes no room there: runs of different worlds hardly share any.
    """
    summaries = [run.summary() for run in runs]
    types = sorted({kind for summary in summaries for kind in summary.by_type})
    shares = [{**each.by_type, ALL: (each.solved, each.tasks)} for each in summaries]
    names = [*types, ALL] if len(types) > 1 else types
    heights, middles, end = stacked([[number for number, of in enumerate(shares) if name in of] for name in names])
    traces = [
        _success(number, run.name, [(at[own], name, Share(*of[name]))
                                    for name, at in zip(names, heights, strict=True) if own in at])
        for own, (number, run, of) in enumerate(zip(range(first, first + len(runs)), runs, shares, strict=True))
    ]  # fmt: skip
    return Chart(
        "Solved, by task type, with 95 % intervals",
        traces,
        lying(names, Axis(more=PERCENT), legend=len(runs) > 1, at=middles, end=end, barmode="overlay"),
        height=tall(len(names), sum(map(len, heights)) - len(names)),
        broad=True,
    )


def _success(number: int, name: str, found: Sequence[tuple[float, str, Share]]) -> dict[str, Any]:
    shares = [share for _, _, share in found]
    return {
        **_bar(name, [at for at, _, _ in found], [share.value or 0 for share in shares], colour(number)),
        "width": BAR_WIDTH,
        "error_x": error_bars(shares),
        "hovertext": [plain(f"{kind}: {share} in {name}") for _, kind, share in found],
    }


def endings(runs: Sequence[RunResults]) -> Chart | None:
    """How the episodes ended, by task type, or by run where there are several; every task is in one of the parts."""
    groups = _by_type(runs[0]) if len(runs) == 1 else {run.name: list(run.episodes.values()) for run in runs}
    counts = {name: Counter(map(_how, played)) for name, played in groups.items()}
    total = sum(counts.values(), Counter[str]())
    if not total:
        return None
    hows = [how for how in OUTCOME_COLOURS if how in total]
    hows += [how for how, _ in total.most_common() if how not in OUTCOME_COLOURS]
    colours = dict(zip(hows, _colours(hows), strict=True))
    traces = [_part(how, colours[how], counts) for how in hows]
    names = list(groups)
    return Chart(
        "How the episodes ended",
        traces,
        lying(names, Axis("episodes", whole(map(len, groups.values()))), legend=True, barmode="stack"),
        ("run" if len(runs) > 1 else "task type", *map(in_words, hows)),
        [[name, *(f"{counts[name][how]:,}" for how in hows)] for name in names],
        height=tall(len(names)) + 40,
        broad=True,
    )


def _by_type(run: RunResults) -> dict[str, list[Result]]:
    kinds = sorted({played.entry.task.type for played in run.episodes.values()})
    return {kind: [each for each in run.episodes.values() if each.entry.task.type == kind] for kind in kinds}


def _how(played: Result) -> str:
    """The outcome of what was solved, else the cause of why it was not."""
    return (
        played.ending.outcome.value
        if played.ending.outcome.solved
        else played.ending.cause or played.ending.outcome.value
    )


def _colours(hows: Sequence[str]) -> Iterable[str]:
    number = 0
    for how in hows:
        if how in OUTCOME_COLOURS:
            yield OUTCOME_COLOURS[how]
        elif how in UNPLAYED:
            yield NOT_PLAYED_COLOUR
        else:
            yield CAUSE_COLOURS[number % len(CAUSE_COLOURS)]
            number += 1


def _part(how: str, hue: str, counts: dict[str, Counter[str]]) -> dict[str, Any]:
    values = [each[how] for each in counts.values()]
    told = [plain(f"{name}: {in_words(how)} {count:,} of {sum(counts[name].values()):,}")
            for name, count in zip(counts, values, strict=True)]  # fmt: skip
    return {**_bar(in_words(how), range(len(values)), values, hue), "hovertext": told}


def actions(run: RunResults) -> Chart | None:
    """How many actions the episodes took, those that were solved beside the others; None where none was played."""
    played = [each for each in run.episodes.values() if each.ending.outcome not in UNPLAYED]
    if not played:
        return None
    most = max(each.ending.actions for each in played)
    width = -(-(most + 1) // MOST_BINS)
    bins = range(0, most + 1, width)
    parts = [(name, [_binned(played, solved, start, width) for start in bins], hue) for name, solved, hue in SOLVED]
    most_at = map(sum, zip(*(counts for _, counts, _ in parts), strict=True))
    told = [f"{start}" if width == 1 else f"{start} to {start + width - 1}" for start in bins]
    return Chart(
        "Actions that the episodes took",
        [_column(name, bins, counts, hue, told) for name, counts, hue in parts if any(counts)],
        layout(Axis("actions"), Axis("episodes", whole(most_at)), legend=True, barmode="stack", bargap=0.08),
        ("actions", *(name for name, _, _ in parts)),
        [
            [each, *(f"{counts[at]:,}" for _, counts, _ in parts)]
            for at, each in enumerate(told)
            if any(counts[at] for _, counts, _ in parts)
        ],
    )


SOLVED = (("solved", True, "--good"), ("not solved", False, "--bad"))


def _binned(played: Sequence[Result], solved: bool, start: int, width: int) -> int:
    counts = (each.ending.actions for each in played if each.ending.outcome.solved is solved)
    return sum(start <= count < start + width for count in counts)


def _column(name: str, bins: range, counts: Sequence[int], hue: str, told: Sequence[str]) -> dict[str, Any]:
    return {
        "type": "bar",
        "name": name,
        "x": [start + (bins.step - 1) / 2 for start in bins],
        "width": bins.step,
        "y": list(counts),
        "marker": {"color": hue},
        "hovertext": [
            f"{counted(count, 'episode')} {name}, {at} actions" for count, at in zip(counts, told, strict=True)
        ],
        "hoverinfo": "text",
    }


def _bar(name: str, at: Iterable[float], lengths: Sequence[float], hue: str) -> dict[str, Any]:
    """Bars that lie at these heights."""
    return {
        "type": "bar",
        "orientation": "h",
        "name": plain(name),
        "y": list(at),
        "x": list(lengths),
        "marker": {"color": hue},
        "hoverinfo": "text",
    }
