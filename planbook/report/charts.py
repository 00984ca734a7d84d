"""The charts of a page, as data: ``viewer/charts.js`` draws them as SVG, and writes the same numbers as a table.

A chart is drawn where it shows something that the tables do not: nothing of a run in which every task was solved.
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
from planbook.results import Result, RunResults, building_cost
from planbook.wording import UNPLAYED, counted, in_words, outcome_of

Chart = dict[str, Any]
Point = tuple[float, float]
ALL = "all"
KNOWN = ("rules", "skills", "reflections", "procedures")
MOST_POINTS, FEW = 400, 3
"""Of one line; and episodes below which a curve shows nothing."""
HUES: Mapping[str, str] = {"direct_success": "good", "indirect_success": "mixed", **dict.fromkeys(UNPLAYED, "rule")}
CAUSES = ("c5", "c4", "bad", "c1", "c3", "c6", "c0", "c7")
"""Colours of outcomes, and of the causes of failures."""
EPISODES = "episodes, in the order in which they ended"
BY = {
    "after": ("building tasks", "building tasks"),
    "planner_options.d_max": ("d_max", "d_max, the level at which nothing is taken apart"),
    "planner_options.rounds": ("rounds", "rounds of planning anew"),
}
"""Settings that success is drawn by, with names of both and of the axis (ADaPT, figure 4; DEPS, table 4)."""


def charts(runs: Sequence[RunResults], first: int = 0) -> list[Chart]:
    """Return the charts of one run, or of several side by side; ``first`` is the number of the first run."""
    found = [
        *_success(runs, first),
        *_endings(runs),
        *curves(runs, first),
        *paying_curves(runs, first),
        *learning_curves(runs),
    ]
    found += building(runs[0]) if len(runs) == 1 else []
    return found if any(run.order for run in runs) else []


def _success(runs: Sequence[RunResults], first: int) -> Iterator[Chart]:
    """Draw the share solved of each task type with its interval, the runs side by side."""
    summaries = [run.summary() for run in runs]
    shares = [{**each.by_type, ALL: (each.solved, each.tasks)} for each in summaries]
    types = sorted({kind for summary in summaries for kind in summary.by_type})
    names = [*types, ALL] if len(types) > 1 else types
    if all(each.solved in (0, each.tasks) for each in summaries) or len(names) == len(runs) == 1:
        return
    series = []
    for number, (run, of, summary) in enumerate(zip(runs, shares, summaries, strict=True), first):
        counts = [of.get(name, (0, 0)) for name in names]
        bounds = [summary.intervals[name] if of.get(name, (0, 0))[1] else None for name in names]
        values = [solved / tasks if tasks else None for solved, tasks in counts]
        tips = [f"{solved:,} of {tasks:,} solved" for solved, tasks in counts]
        series.append({"name": run.name, "hue": number, "values": values, "bounds": bounds, "tips": tips})
    title = "Solved, by task type, with 95 % intervals"
    yield {"kind": "bars", "title": title, "form": "percent", "names": names, "series": series, "beside": True}


def _endings(runs: Sequence[RunResults]) -> Iterator[Chart]:
    """Draw how the episodes ended, by task type, or by run; every task is in one of the parts."""
    if len(runs) == 1:
        every = list(runs[0].episodes.values())
        kinds = sorted({each.entry.task.type for each in every})
        groups = {kind: [each for each in every if each.entry.task.type == kind] for kind in kinds}
    else:
        groups = {run.name: list(run.episodes.values()) for run in runs}
    counts = {name: Counter(map(_how, episodes)) for name, episodes in groups.items()}
    total = sum(counts.values(), Counter[str]())
    hows = sorted(total, key=lambda how: (list(HUES).index(how) if how in HUES else 2, -total[how]))
    if len(hows) > 1:
        hues = {how: HUES.get(how) or CAUSES[number % len(CAUSES)] for number, how in enumerate(hows)}
        series = [
            {"name": in_words(how), "hue": hues[how], "values": [each[how] for each in counts.values()]} for how in hows
        ]
        yield {
            "kind": "bars",
            "title": "How the episodes ended",
            "form": "count",
            "names": list(groups),
            "series": series,
            "broad": True,
        }


def _how(episode: Result) -> str:
    """Return the outcome of what was solved, else the cause of why it was not."""
    ending = episode.ending
    return ending.outcome.value if ending.outcome.solved else ending.cause or ending.outcome.value


def curves(runs: Sequence[RunResults], first: int = 0) -> Iterator[Chart]:
    """Draw success over the episodes in the order in which they ended."""
    series = [
        {"name": run.name, "hue": number, "points": thinned(list(enumerate(_solved_so_far(run), 1)))}
        for number, run in enumerate(runs, first)
        if len(run.order) >= FEW
    ]
    if any(0 < run.summary().solved < len(run.order) for run in runs) and series:
        title = "Solved, of the episodes that had ended"
        yield {"kind": "lines", "title": title, "form": "percent", "over": EPISODES, "series": series}


def _solved_so_far(run: RunResults) -> list[float]:
    solved = accumulate(run.episodes[index].solved for index in run.order)
    return [round(count / number, 6) for number, count in enumerate(solved, 1)]


def paying_curves(runs: Sequence[RunResults], first: int = 0) -> Iterator[Chart]:
    """Draw the tokens for each solved task as tasks are played, learning included, where something was learned."""
    known = [(number, run, paying) for number, run in enumerate(runs, first) if (paying := run.paying())]
    if not any(paying.has_learned for _, _, paying in known):
        return
    drawn = ((run.name, number, list(_tokens_so_far(run, paying.learning_tokens))) for number, run, paying in known)
    series = [{"name": name, "hue": hue, "points": thinned(points)} for name, hue, points in drawn if points]
    title = "Tokens per solved task so far, with learning"
    if series:
        yield {"kind": "lines", "title": title, "form": "count", "over": EPISODES, "series": series}


def _tokens_so_far(run: RunResults, learning: int) -> Iterator[Point]:
    """Yield the tokens for each solved task after each episode.

    What earlier runs spent on learning is there from the beginning, what a building run spends as it goes on.
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


def thinned(points: Sequence[Point], most: int = MOST_POINTS) -> list[Point]:
    """Return some of the points, evenly, always with the last."""
    step = -(-len(points) // most)
    return [*points[:-1:step], points[-1]]


def learning_curves(runs: Sequence[RunResults]) -> Iterator[Chart]:
    """Draw success by a number, where runs differ in that number and in nothing else."""
    for setting, (name, over) in BY.items():
        alike = defaultdict[tuple[tuple[str, str], ...], dict[int, RunResults]](dict)
        for run in runs:
            told = dict(by_dotted_name(with_options(run.run.config)))
            number = told.pop(setting, "")
            if number.isdecimal() and run.episodes:
                alike[tuple(told.items())][int(number)] = run
        series = [_curve(each, setting) for each in alike.values() if len(each) > 1]
        if series:
            title = f"Success by {name}"
            yield {"kind": "lines", "title": title, "form": "percent", "over": over, "series": series}


def _curve(alike: Mapping[int, RunResults], setting: str) -> dict[str, Any]:
    summaries = {number: alike[number].summary() for number in sorted(alike)}
    points = [(number, each.solved / each.tasks) for number, each in summaries.items()]
    bounds = [each.intervals[ALL] for each in summaries.values()]
    config = next(iter(alike.values())).run.config
    library = Path(config.library).name if setting == "after" else config.env
    options = (f"{name} {value}" for name, value in config.planner_options.items() if not setting.endswith(name))
    left_out = (f"without {name}" for name in config.without)
    named = (library, config.title, *config.models.values(), *options, *left_out, config.selection.split)
    return {"name": ", ".join(filter(None, named)), "points": points, "bounds": bounds}


def with_options(config: Config) -> dict[str, Any]:
    """Return a configuration as JSON, with all options that the method plays with."""
    found = config.model_dump(mode="json")
    with suppress(EnvsError):
        found["planner_options"] = chosen_options(config, config.environment.name)
    return found


def building(run: RunResults) -> list[Chart]:
    """Return a building run's error steps and what was known, episode by episode; nothing for other runs."""
    steps = list(_learning(run))
    if not steps:
        return []
    episodes = [run.episodes[index] for index, _ in steps]
    marks = []
    for name, solved, hue in (("solved", True, "good"), ("not solved", False, "bad")):
        own = [each for each in episodes if each.ending.outcome.solved is solved]
        tips = [f"{each.entry.task.id}, {outcome_of(each.ending)}" for each in own]
        points = [(each.index, each.ending.error_steps) for each in own]
        if own:
            marks.append({"name": name, "hue": hue, "points": points, "tips": tips})
    solved_of = f"{sum(each.ending.outcome.solved for each in episodes):,} of {len(episodes):,} solved"
    known = [
        {"name": name, "hue": hue, "points": [(index, counts[hue]) for index, counts in steps]}
        for hue, name in enumerate(KNOWN)
        if any(counts[hue] for _, counts in steps)
    ]
    last = counted(steps[-1][1][0], "rule")
    common = {"form": "count", "over": "number of the episode"}
    errors = {"kind": "marks", "title": "Building: error steps, episode by episode", "series": marks, "last": solved_of}
    title = "Building: what was known after each episode"
    grown = {"kind": "lines", "title": title, "series": known, "last": last, "steps": True, **common}
    return [errors | common, grown] if any(each.ending.error_steps for each in episodes) else [grown]


def _learning(run: RunResults) -> Iterator[tuple[int, tuple[int, ...]]]:
    """Give the episodes that were learned from, in that order, with what was known after each by ``KNOWN``."""
    learning, known = run.run.config.learning, dict[str, tuple[int, ...]]()
    for event in run.outside if learning is not None else ():
        body: Any = event.body
        match = LEARNED.fullmatch(event.scope)
        if event.kind == "learnt" and match and SPOILT not in body and learning:
            index = int(match[1])
            counts = tuple(len(body["knowledge"][name]) for name in KNOWN)
            known[group_of(learning, run.episodes[index].entry.task.type)] = counts
            yield index, tuple(map(sum, zip(*known.values(), strict=True)))
