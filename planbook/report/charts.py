"""The charts of a page, as data: ``viewer/charts.js`` draws them as SVG, with the same numbers as a table.

A chart is drawn only if it shows something that the tables do not; a run that solved every task has none.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from planbook.config import by_dotted_name, chosen_options
from planbook.console import ALL
from planbook.results.table import KNOWN, RunResults
from planbook.wording import counted

Chart = dict[str, Any]
Point = tuple[float, float]
MAX_POINTS, MIN_EPISODES = 400, 3
"""Maximum number of points of a line, and minimum number of episodes for one."""
EPISODES = "episodes, in the order in which they ended"
BY = {
    "after": ("building tasks", "building tasks"),
    "planner_options.d_max": ("d_max", "d_max, the maximum depth of decomposition"),
    "planner_options.rounds": ("rounds", "rounds of replanning"),
}
"""Settings over which success is drawn, with their names and axis titles (ADaPT, figure 4; DEPS, table 4)."""


def charts(runs: Sequence[RunResults], first: int = 0) -> list[Chart]:
    """Return the charts of one run, or of several side by side; ``first`` is the number of the first run."""
    if not any(run.order for run in runs):
        return []
    return [
        *_success(runs, first),
        *_solved_curves(runs, first),
        *_token_curves(runs, first),
        *_curves_over_settings(runs),
        *(_knowledge(runs[0]) if len(runs) == 1 else []),
    ]


def _lines(title: str, over: str, series: Sequence[Chart], form: str = "percent") -> Chart:
    return {"kind": "lines", "title": title, "form": form, "over": over, "series": series}


def _success(runs: Sequence[RunResults], first: int) -> Iterator[Chart]:
    """Yield a chart of the solved share of each task type with its interval, the runs side by side."""
    summaries = [run.summary() for run in runs]
    types = sorted({kind for summary in summaries for kind in summary.by_type})
    names = [*types, ALL] if len(types) > 1 else types
    if all(summary.solved in (0, summary.tasks) for summary in summaries) or len(names) == len(runs) == 1:
        return
    series = []
    for number, (run, summary) in enumerate(zip(runs, summaries, strict=True), first):
        by_type = {**summary.by_type, ALL: (summary.solved, summary.tasks)}
        counts = [by_type.get(name, (0, 0)) for name in names]
        bounds = [summary.interval_of(name) for name in names]
        values = [solved / tasks if tasks else None for solved, tasks in counts]
        tips = [f"{solved:,} of {tasks:,} solved" for solved, tasks in counts]
        series.append({"name": run.name, "hue": number, "values": values, "bounds": bounds, "tips": tips})
    title = "Solved, by task type, with 95 % intervals"
    yield {"kind": "bars", "title": title, "form": "percent", "names": names, "series": series}


def _solved_curves(runs: Sequence[RunResults], first: int) -> Iterator[Chart]:
    """Yield a chart of success over the episodes in the order in which they ended."""
    series = [
        {"name": run.name, "hue": number, "points": thin_out(list(_solved_so_far(run)))}
        for number, run in enumerate(runs, first)
        if len(run.order) >= MIN_EPISODES
    ]
    if any(0 < run.summary().solved < len(run.order) for run in runs) and series:
        yield _lines("Share of episodes solved so far", EPISODES, series)


def _solved_so_far(run: RunResults) -> Iterator[Point]:
    for number, solved in enumerate(accumulate(run.episodes[index].solved for index in run.order), 1):
        yield number, round(solved / number, 6)


def _token_curves(runs: Sequence[RunResults], first: int) -> Iterator[Chart]:
    """Yield a chart of the tokens per solved task over the episodes, with learning, if something was learned."""
    costs = [(number, run, paying) for number, run in enumerate(runs, first) if (paying := run.paying())]
    if not any(paying.has_learned for _, _, paying in costs):
        return
    lines = ((run.name, number, list(_tokens_so_far(run, paying.learning_tokens))) for number, run, paying in costs)
    series = [{"name": name, "hue": hue, "points": thin_out(points)} for name, hue, points in lines if points]
    if series:
        yield _lines("Tokens per solved task so far, with learning", EPISODES, series, "count")


def _tokens_so_far(run: RunResults, learning: int) -> Iterator[Point]:
    """Yield the tokens per solved task after each episode.

    Tokens that earlier runs spent on learning count from the beginning, those of a building run as it spends them.
    """
    if run.builds:
        for step in run.steps:
            solved = sum(row.solved for row in run.episodes.values() if row.index < step.tasks)
            if solved:
                yield step.tasks, round((learning - run.outside_cost.tokens + step.tokens) / solved)
        return
    tokens, solved = learning, 0
    for number, index in enumerate(run.order, 1):
        row = run.episodes[index]
        tokens, solved = tokens + row.cost.tokens, solved + row.solved
        if solved:
            yield number, round(tokens / solved)


def thin_out(points: Sequence[Point], limit: int = MAX_POINTS) -> list[Point]:
    """Return evenly spaced points, always including the last."""
    step = -(-len(points) // limit)
    return [*points[:-1:step], points[-1]]


def _curves_over_settings(runs: Sequence[RunResults]) -> Iterator[Chart]:
    """Yield a chart of success over each numeric setting, for runs that differ in nothing else."""
    for setting, (name, over) in BY.items():
        groups = defaultdict[tuple[tuple[str, str], ...], dict[int, RunResults]](dict)
        for run in runs:
            values = dict(by_dotted_name(with_options(run)))
            number = values.pop(setting, "")
            if number.isdecimal() and run.episodes:
                groups[tuple(values.items())][int(number)] = run
        series = [_curve(group, setting) for group in groups.values() if len(group) > 1]
        if series:
            yield _lines(f"Success by {name}", over, series)


def _curve(runs: Mapping[int, RunResults], setting: str) -> dict[str, Any]:
    summaries = {number: runs[number].summary() for number in sorted(runs)}
    points = [(number, summary.solved / summary.tasks) for number, summary in summaries.items()]
    bounds = [summary.interval_of(ALL) for summary in summaries.values()]
    config = next(iter(runs.values())).run.config
    library = Path(config.library).name if setting == "after" else config.env
    options = (f"{name} {value}" for name, value in config.planner_options.items() if not setting.endswith(name))
    left_out = (f"without {name}" for name in config.without)
    names = (library, config.title, *config.models.values(), *options, *left_out, config.selection.split)
    return {"name": ", ".join(filter(None, names)), "points": points, "bounds": bounds}


def with_options(run: RunResults) -> dict[str, Any]:
    """Return a run's configuration as JSON, with all options of the method."""
    config = run.run.config
    options = chosen_options(config, min(run.environments, default=config.env))
    return {**config.model_dump(mode="json"), "planner_options": options}


def _knowledge(run: RunResults) -> Iterator[Chart]:
    """Yield a chart of what a building run knew after each episode."""
    if not run.steps:
        return
    series = [
        {"name": name, "hue": hue, "points": [(step.tasks - 1, getattr(step, name)) for step in run.steps]}
        for hue, name in enumerate(KNOWN)
        if any(getattr(step, name) for step in run.steps)
    ]
    chart = _lines("Building: what was known after each episode", "number of the episode", series, "count")
    yield {**chart, "last": counted(run.steps[-1].rules, "rule"), "steps": True}
