"""The charts of a page, as data: ``viewer/charts.js`` draws them as SVG, with the same numbers as a table.

A chart is drawn only if it shows something that the tables do not; a run that solved every task has none.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import accumulate
from pathlib import Path
from typing import Any

from planbook.config import Config, by_dotted_name, chosen_options
from planbook.envs import EnvsError
from planbook.knowledge import LEARNED, SPOILT, group_of
from planbook.results.learning_cost import building_cost
from planbook.results.rows import Result
from planbook.results.table import RunResults
from planbook.wording import UNPLAYED, counted, in_words, outcome_of

Chart = dict[str, Any]
Point = tuple[float, float]
ALL = "all"
KNOWN = ("rules", "skills", "reflections", "procedures")
MAX_POINTS, MIN_EPISODES = 400, 3
"""Maximum points of a line; and minimum episodes of a curve."""
HUES: Mapping[str, str] = {"direct_success": "good", "indirect_success": "mixed", **dict.fromkeys(UNPLAYED, "rule")}
CAUSES = ("c5", "c4", "bad", "c1", "c3", "c6", "c0", "c7")
"""Colours of outcomes, and of the causes of failures."""
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
        *_endings(runs),
        *curves(runs, first),
        *token_curves(runs, first),
        *learning_curves(runs),
        *(building(runs[0]) if len(runs) == 1 else []),
    ]


def _success(runs: Sequence[RunResults], first: int) -> Iterator[Chart]:
    """Yield the solved share of each task type with its interval, the runs side by side."""
    summaries = [run.summary() for run in runs]
    types = sorted({kind for summary in summaries for kind in summary.by_type})
    names = [*types, ALL] if len(types) > 1 else types
    if all(summary.solved in (0, summary.tasks) for summary in summaries) or len(names) == len(runs) == 1:
        return
    series = []
    for number, (run, summary) in enumerate(zip(runs, summaries, strict=True), first):
        by_type = {**summary.by_type, ALL: (summary.solved, summary.tasks)}
        counts = [by_type.get(name, (0, 0)) for name in names]
        bounds = [summary.intervals[name] if tasks else None for name, (_, tasks) in zip(names, counts, strict=True)]
        values = [solved / tasks if tasks else None for solved, tasks in counts]
        tips = [f"{solved:,} of {tasks:,} solved" for solved, tasks in counts]
        series.append({"name": run.name, "hue": number, "values": values, "bounds": bounds, "tips": tips})
    title = "Solved, by task type, with 95 % intervals"
    yield {"kind": "bars", "title": title, "form": "percent", "names": names, "series": series, "beside": True}


def _endings(runs: Sequence[RunResults]) -> Iterator[Chart]:
    """Yield the endings of all episodes, by task type, or by run."""
    if len(runs) == 1:
        episodes = list(runs[0].episodes.values())
        types = sorted({episode.entry.task.type for episode in episodes})
        groups = {name: [episode for episode in episodes if episode.entry.task.type == name] for name in types}
    else:
        groups = {run.name: list(run.episodes.values()) for run in runs}
    counts = {name: Counter(map(_ending, episodes)) for name, episodes in groups.items()}
    total = sum(counts.values(), Counter[str]())
    endings = sorted(total, key=lambda ending: (list(HUES).index(ending) if ending in HUES else 2, -total[ending]))
    if len(endings) > 1:
        series = [
            {
                "name": in_words(ending),
                "hue": HUES.get(ending) or CAUSES[number % len(CAUSES)],
                "values": [count[ending] for count in counts.values()],
            }
            for number, ending in enumerate(endings)
        ]
        yield {
            "kind": "bars",
            "title": "How the episodes ended",
            "form": "count",
            "names": list(groups),
            "series": series,
            "broad": True,
        }


def _ending(episode: Result) -> str:
    """Return the outcome if solved, else the cause."""
    ending = episode.ending
    return ending.outcome.value if ending.outcome.solved else ending.cause or ending.outcome.value


def curves(runs: Sequence[RunResults], first: int = 0) -> Iterator[Chart]:
    """Yield success over the episodes in the order in which they ended."""
    series = [
        {"name": run.name, "hue": number, "points": thin_out(list(enumerate(_solved_so_far(run), 1)))}
        for number, run in enumerate(runs, first)
        if len(run.order) >= MIN_EPISODES
    ]
    if any(0 < run.summary().solved < len(run.order) for run in runs) and series:
        title = "Share of episodes solved so far"
        yield {"kind": "lines", "title": title, "form": "percent", "over": EPISODES, "series": series}


def _solved_so_far(run: RunResults) -> list[float]:
    solved = accumulate(run.episodes[index].solved for index in run.order)
    return [round(count / number, 6) for number, count in enumerate(solved, 1)]


def token_curves(runs: Sequence[RunResults], first: int = 0) -> Iterator[Chart]:
    """Yield the tokens per solved task over the episodes, learning included, if something was learned."""
    costs = [(number, run, paying) for number, run in enumerate(runs, first) if (paying := run.paying())]
    if not any(paying.has_learned for _, _, paying in costs):
        return
    lines = ((run.name, number, list(_tokens_so_far(run, paying.learning_tokens))) for number, run, paying in costs)
    series = [{"name": name, "hue": hue, "points": thin_out(points)} for name, hue, points in lines if points]
    title = "Tokens per solved task so far, with learning"
    if series:
        yield {"kind": "lines", "title": title, "form": "count", "over": EPISODES, "series": series}


def _tokens_so_far(run: RunResults, learning: int) -> Iterator[Point]:
    """Yield the tokens per solved task after each episode.

    Tokens that earlier runs spent on learning count from the beginning, those of a building run as it spends them.
    """
    tokens, solved = learning, 0
    if run.builds:
        for reached in building_cost(run.run, run.price).after:
            solved = sum(row.solved for row in run.episodes.values() if row.index < reached.tasks)
            if solved:
                yield reached.tasks, round((learning - run.outside_cost.tokens + reached.tokens) / solved, 1)
        return
    for number, index in enumerate(run.order, 1):
        row = run.episodes[index]
        tokens, solved = tokens + row.cost.tokens, solved + row.solved
        if solved:
            yield number, round(tokens / solved, 1)


def thin_out(points: Sequence[Point], limit: int = MAX_POINTS) -> list[Point]:
    """Return evenly chosen points, always with the last."""
    step = -(-len(points) // limit)
    return [*points[:-1:step], points[-1]]


def learning_curves(runs: Sequence[RunResults]) -> Iterator[Chart]:
    """Yield success over a numeric setting, for runs that differ in nothing else."""
    for setting, (name, over) in BY.items():
        groups = defaultdict[tuple[tuple[str, str], ...], dict[int, RunResults]](dict)
        for run in runs:
            values = dict(by_dotted_name(with_options(run.run.config)))
            number = values.pop(setting, "")
            if number.isdecimal() and run.episodes:
                groups[tuple(values.items())][int(number)] = run
        series = [_curve(group, setting) for group in groups.values() if len(group) > 1]
        if series:
            title = f"Success by {name}"
            yield {"kind": "lines", "title": title, "form": "percent", "over": over, "series": series}


def _curve(runs: Mapping[int, RunResults], setting: str) -> dict[str, Any]:
    summaries = {number: runs[number].summary() for number in sorted(runs)}
    points = [(number, summary.solved / summary.tasks) for number, summary in summaries.items()]
    bounds = [summary.intervals[ALL] for summary in summaries.values()]
    config = next(iter(runs.values())).run.config
    library = Path(config.library).name if setting == "after" else config.env
    options = (f"{name} {value}" for name, value in config.planner_options.items() if not setting.endswith(name))
    left_out = (f"without {name}" for name in config.without)
    names = (library, config.title, *config.models.values(), *options, *left_out, config.selection.split)
    return {"name": ", ".join(filter(None, names)), "points": points, "bounds": bounds}


def with_options(config: Config) -> dict[str, Any]:
    """Return a configuration as JSON, with all options of the method."""
    settings = config.model_dump(mode="json")
    with suppress(EnvsError):
        settings["planner_options"] = chosen_options(config, config.environment.name)
    return settings


def building(run: RunResults) -> list[Chart]:
    """Return a building run's error steps and knowledge, episode by episode; nothing for other runs."""
    steps = list(_learning(run))
    if not steps:
        return []
    episodes = [run.episodes[index] for index, _ in steps]
    marks = []
    for name, solved, hue in (("solved", True, "good"), ("not solved", False, "bad")):
        own = [episode for episode in episodes if episode.ending.outcome.solved is solved]
        tips = [f"{episode.entry.task.id}, {outcome_of(episode.ending)}" for episode in own]
        points = [(episode.index, episode.ending.error_steps) for episode in own]
        if own:
            marks.append({"name": name, "hue": hue, "points": points, "tips": tips})
    total = f"{sum(episode.ending.outcome.solved for episode in episodes):,} of {len(episodes):,} solved"
    known = [
        {"name": name, "hue": hue, "points": [(index, counts[hue]) for index, counts in steps]}
        for hue, name in enumerate(KNOWN)
        if any(counts[hue] for _, counts in steps)
    ]
    last = counted(steps[-1][1][0], "rule")
    common = {"form": "count", "over": "number of the episode"}
    errors = {"kind": "marks", "title": "Building: error steps, episode by episode", "series": marks, "last": total}
    title = "Building: what was known after each episode"
    knowledge = {"kind": "lines", "title": title, "series": known, "last": last, "steps": True, **common}
    return [errors | common, knowledge] if any(episode.ending.error_steps for episode in episodes) else [knowledge]


def _learning(run: RunResults) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Yield the episodes that were learned from, in order, with the counts of ``KNOWN`` after each."""
    learning, known = run.run.config.learning, dict[str, tuple[int, ...]]()
    for event in run.outside if learning is not None else ():
        body: Any = event.body
        match = LEARNED.fullmatch(event.scope)
        if event.kind == "learnt" and match and SPOILT not in body and learning:
            index = int(match[1])
            counts = tuple(len(body["knowledge"][name]) for name in KNOWN)
            known[group_of(learning, run.episodes[index].entry.task.type)] = counts
            yield index, tuple(map(sum, zip(*known.values(), strict=True)))
