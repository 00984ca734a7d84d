"""Curves over the episodes of a run, and over runs that differ in one number."""

from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from planbook.config import Config, chosen_options
from planbook.report.charts.chart import PERCENT, Axis, Chart, colour, layout, plain, whole
from planbook.report.charts.shares import Share, error_bars
from planbook.results import Result, RunResults

MOST_POINTS, TOLD_POINTS = 400, 8
"""Of one line: more cannot be told apart; and how many its table says."""
EPISODES, BUILDING_TASKS = "episodes, in the order in which they ended", "building tasks"
BY_OPTION = {"d_max": "d_max, the level at which nothing is taken apart", "rounds": "rounds of planning anew"}
"""Options of methods that success is drawn by, and what is counted along that (ADaPT, figure 4; DEPS, table 4)."""
Point = tuple[int, float]
Values = Callable[[RunResults], Sequence[float] | None]
"""One for each episode that ended, in the order of their ends; None where a run has none to tell."""


def curves(runs: Sequence[RunResults], first: int = 0) -> list[Chart]:
    """Success, and what had been spent, over the episodes in the order in which they ended.

    ``first`` is the number of the first run, which its colour follows from.
    """
    share, count = "{:.1%}".format, "{:,.0f}".format
    money, seconds = "${:,.4f}".format, "{:,.1f} s".format
    asked: tuple[tuple[str, Values, Callable[[float], str]], ...] = (
        ("Model calls within episodes so far", _so_far(lambda each: each.cost.calls), count),
        ("Tokens within episodes so far", _so_far(lambda each: each.cost.tokens), count),
        ("US dollars within episodes so far", _money_so_far, money),
        ("Seconds that models took within episodes so far", _so_far(lambda each: each.cost.waited), seconds),
    )
    drawn = [_over_episodes("Solved, of the episodes that had ended", runs, first, _solved_so_far, share, PERCENT)]
    drawn += [_over_episodes(title, runs, first, values, told) for title, values, told in asked]
    return [chart for chart in drawn if chart is not None]


def learning_curves(runs: Sequence[RunResults]) -> list[Chart]:
    """Success by building tasks, where some of the runs test what one building run knew after different numbers.

    Likewise by an option of the method, where runs differ in nothing else.
    """
    drawn = [_curve("Success by building tasks", BUILDING_TASKS, _by_after(runs), _tested)]
    for option, over in BY_OPTION.items():
        drawn.append(_curve(f"Success by {option}", over, _by_option(runs, option), _played_by(option)))
    return [chart for chart in drawn if chart is not None]


def _over_episodes(
    title: str,
    runs: Sequence[RunResults],
    first: int,
    values_of: Values,
    told: Callable[[float], str],
    upright: dict[str, Any] | None = None,
) -> Chart | None:
    """One line for each run; None where none of the runs has anything to tell but nothing."""
    values = [(number, run.name, values_of(run)) for number, run in enumerate(runs, first)]
    series = [(number, name, list(enumerate(each, 1))) for number, name, each in values if each]
    if (not any(value for _, _, points in series for _, value in points) and upright is None) or not series:
        return None
    up = Axis(more=upright or whole(value for _, _, points in series for _, value in points))
    lines = [_line(number, name, thinned(points), told) for number, name, points in series]
    single = len(series) == 1
    few = {"dtick": 1} if max(len(points) for _, _, points in series) < 6 else {}
    return Chart(
        title,
        lines,
        layout(Axis(EPISODES, few), up, legend=not single, hovermode="x unified"),
        ("episodes", *(name for _, name, _ in series)),
        _told([points for _, _, points in series], told),
        told(series[0][2][-1][1]) if single else "",
    )


def _line(number: int, name: str, points: Sequence[Point], told: Callable[[float], str]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines" if len(points) > 1 else "markers",
        "name": plain(name),
        "x": [at for at, _ in points],
        "y": [round(value, 6) for _, value in points],
        "text": [told(value) for _, value in points],
        "hovertemplate": f"{_in_template(name)}: %{{text}}<extra></extra>",
        "line": {"color": colour(number), "width": 2},
    }


def _in_template(name: str) -> str:
    """A name in which the drawing library finds no place to put a figure."""
    return plain(name).replace("{", "(").replace("}", ")")


def _told(series: Sequence[Sequence[Point]], told: Callable[[float], str]) -> list[list[str]]:
    """A few of the points of several lines, beside each other."""
    longest = max(series, key=len)
    values = [dict(points) for points in series]
    return [
        [f"{at:,}", *(told(each[at]) if at in each else "–" for each in values)]
        for at, _ in thinned(longest, TOLD_POINTS)
    ]


def _solved_so_far(run: RunResults) -> list[float]:
    solved = accumulate(run.episodes[index].ending.outcome.solved for index in run.order)
    return [count / number for number, count in enumerate(solved, 1)]


def _so_far(of: Callable[[Result], float]) -> Values:
    """What the episodes that had ended had cost together; what was spent outside them is no part of it."""
    return lambda run: list(accumulate(of(run.episodes[index]) for index in run.order))


def _money_so_far(run: RunResults) -> list[float] | None:
    """None where a price is unknown."""
    spent = [run.episodes[index].cost.money for index in run.order]
    known = [money for money in spent if money is not None]
    return list(accumulate(known)) if len(known) == len(spent) else None


def thinned(points: Sequence[Point], most: int = MOST_POINTS) -> list[Point]:
    """Some of the points, evenly, always with the last."""
    step = -(-len(points) // most)
    return [*points[:-1:step], points[-1]]


Curve = Mapping[int, RunResults]
"""Runs that are alike, by the number that differs."""


def _by_after(runs: Sequence[RunResults]) -> list[Curve]:
    alike: dict[str, dict[int, RunResults]] = {}
    for run in runs:
        config = run.run.config
        if config.after is not None and run.episodes:
            alike.setdefault(config.model_copy(update={"after": None}).model_dump_json(), {})[config.after] = run
    return list(alike.values())


def _by_option(runs: Sequence[RunResults], option: str) -> list[Curve]:
    alike: dict[str, dict[int, RunResults]] = {}
    for run in runs:
        config = run.run.config
        number = _number(config, option)
        if number is not None and run.episodes:
            others = {name: value for name, value in config.planner_options.items() if name != option}
            same = config.model_copy(update={"planner_options": others})
            alike.setdefault(same.model_dump_json(), {})[number] = run
    return list(alike.values())


def _number(config: Config, option: str) -> int | None:
    """The option's number; where none was given, the one that the method takes then."""
    number = chosen_options(config, config.env).get(option)
    return number if isinstance(number, int) else None


def _curve(title: str, over: str, found: Sequence[Curve], named: Callable[[Config], str]) -> Chart | None:
    series = [(named(_config(alike)), _shares(alike)) for alike in found if len(alike) > 1]
    if not series:
        return None
    return Chart(
        title,
        [_with_intervals(number, name, points) for number, (name, points) in enumerate(series)],
        layout(Axis(over), Axis(more=PERCENT), legend=len(series) > 1),
        (over.partition(",")[0], "solved", "95 % interval", "runs"),
        [[str(at), share.told, share.within, name] for name, points in series for at, share in points],
        series[0][1][-1][1].told if len(series) == 1 else "",
    )


def _with_intervals(number: int, name: str, points: Sequence[tuple[int, Share]]) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": plain(name),
        "x": [at for at, _ in points],
        "y": [share.value for _, share in points],
        "error_y": {**error_bars([share for _, share in points]), "color": colour(number)},
        "hovertext": [f"{at}: {share}" for at, share in points],
        "hoverinfo": "text",
        "line": {"color": colour(number), "width": 2},
    }


def _shares(alike: Curve) -> list[tuple[int, Share]]:
    summaries = {number: alike[number].summary() for number in sorted(alike)}
    return [(number, Share(summary.solved, summary.tasks)) for number, summary in summaries.items()]


def _config(alike: Curve) -> Config:
    return next(iter(alike.values())).run.config


def _tested(config: Config) -> str:
    """What the runs of a learning curve have in common."""
    left_out = (f"without {name}" for name in config.without)
    split = config.selection.split or ""
    return ", ".join(filter(None, (Path(config.library).name, config.title, *config.models.values(), *left_out, split)))


def _played_by(option: str) -> Callable[[Config], str]:
    """What the runs of a curve over an option have in common."""

    def told(config: Config) -> str:
        others = (f"{name} {value}" for name, value in config.planner_options.items() if name not in (option, "source"))
        place = " ".join(filter(None, (config.env, config.selection.split)))
        return ", ".join((config.title, place, *config.models.values(), *others))

    return told
