"""Makes the data of a page's charts. ``viewer/charts.js`` draws each chart as SVG.

A chart is left out if it adds nothing to the page's tables, for example if all tasks were solved.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

from planbook.config import effective_options
from planbook.console import ALL
from planbook.options import flatten_settings
from planbook.results import COUNTED_KNOWLEDGE, RunResults
from planbook.runs import without_folders
from planbook.wording import counted

Chart = dict[str, Any]
Point = tuple[float, float]
MIN_EPISODES = 3
"""A line is drawn only if there are at least this many episodes."""
EPISODES_AXIS = "episodes, in the order in which they ended"
SETTING_AXES = {
    "after": ("training tasks", "training tasks"),
    "planner_options.d_max": ("d_max", "d_max, the maximum depth of decomposition"),
    "planner_options.rounds": ("rounds", "rounds of replanning"),
}
"""Maps settings to their names and axis titles. For these settings, charts show how success depends on the setting, as
in figure 4 of the ADaPT paper and table 4 of the DEPS paper."""


def charts(runs: Sequence[RunResults]) -> list[Chart]:
    """Return the charts of one run, or of several runs together."""
    knowledge_curves = _knowledge_curves(runs[0]) if len(runs) == 1 else ()
    return [*_solved_curves(runs), *_curves_over_settings(runs), *knowledge_curves]


def _line_chart(title: str, axis: str, series: Sequence[Chart], format: str = "percent") -> Chart:
    return {"title": title, "format": format, "axis": axis, "series": series}


def _solved_curves(runs: Sequence[RunResults]) -> Iterator[Chart]:
    """Yield a line chart of the share of solved episodes after each episode, with a line for each run.

    Yield nothing if all lines are flat.
    """
    lines = ({"name": run.name, "points": list(_solved_so_far(run))} for run in runs)
    series = [line for line in lines if len(line["points"]) >= MIN_EPISODES]
    if any(share != line["points"][0][1] for line in series for _, share in line["points"]):
        yield _line_chart("Share of episodes solved so far", EPISODES_AXIS, series)


def _solved_so_far(run: RunResults) -> Iterator[Point]:
    played = [row for index in run.order if not (row := run.episodes[index]).is_skipped]
    for number, solved in enumerate(accumulate(row.solved for row in played), 1):
        yield number, round(solved / number, 6)


def _curves_over_settings(runs: Sequence[RunResults]) -> Iterator[Chart]:
    """Yield a line chart for each setting in ``SETTING_AXES``. A line joins runs that differ only in this setting."""
    for setting, (name, axis) in SETTING_AXES.items():
        groups = defaultdict[tuple[tuple[str, str], ...], dict[int, RunResults]](dict)
        for run in runs:
            values = dict(flatten_settings(with_options(run)))
            number = values.pop(setting, "")
            if number.isdecimal() and run.order:
                groups[tuple(values.items())][int(number)] = run
        series = [_curve(group, setting) for group in groups.values() if len(group) > 1]
        if series:
            yield _line_chart(f"Success by {name}", axis, series)


def _curve(runs: Mapping[int, RunResults], setting: str) -> dict[str, Any]:
    summaries = {number: runs[number].summary() for number in sorted(runs)}
    points = [(number, summary.solved / summary.tasks) for number, summary in summaries.items()]
    bounds = [summary.intervals[ALL] for summary in summaries.values()]
    config = without_folders(next(iter(runs.values())).run.config)
    library_or_env = Path(config.library).name if setting == "after" else config.env
    options = (f"{name} {value}" for name, value in config.planner_options.items() if not setting.endswith(name))
    left_out = (f"without {name}" for name in config.without)
    names = (library_or_env, config.title, *config.models.values(), *options, *left_out, config.selection.split)
    return {"name": ", ".join(filter(None, names)), "points": points, "bounds": bounds}


def with_options(run: RunResults) -> dict[str, Any]:
    """Return a run's configuration as JSON, with all options of its planning method, including defaults."""
    config = run.run.config
    options = effective_options(config, min(run.environments, default=config.env))
    return {**config.model_dump(mode="json"), "planner_options": options}


def _knowledge_curves(run: RunResults) -> Iterator[Chart]:
    """Yield a line chart of the number of rules, skills and so on after each episode of `planbook build`."""
    if not run.building_states:
        return
    series = [
        {"name": name, "points": [(state.tasks, getattr(state, name)) for state in run.building_states]}
        for name in COUNTED_KNOWLEDGE
        if any(getattr(state, name) for state in run.building_states)
    ]
    chart = _line_chart("Knowledge after each episode", EPISODES_AXIS, series, "count")
    yield {**chart, "last": counted(run.building_states[-1].rules, "rule"), "steps": True}
