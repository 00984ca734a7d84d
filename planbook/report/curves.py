"""Curves over the episodes of a run, as points in a drawing."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from math import floor, log10
from pathlib import Path

from planbook.config import Config, chosen_options
from planbook.report.reading import Played, RunRead

WIDTH, HEIGHT = 400, 230
LEFT, RIGHT, TOP, BOTTOM = 46, 12, 12, 34
"""Margins: room for the numbers beside the axes."""
MOST_POINTS = 400
"""Of one line; more cannot be told apart."""
EPISODES, BUILDING_TASKS = "episodes, in the order in which they ended", "building tasks"
BY_OPTION = {"d_max": "d_max, the level at which nothing is taken apart", "rounds": "rounds of planning anew"}
"""Options of methods that success is drawn by, and what is counted along that (ADaPT, figure 4; DEPS, table 4)."""
QUARTERS = ((0.0, "0%"), (0.25, "25%"), (0.5, "50%"), (0.75, "75%"), (1.0, "100%"))


@dataclass(frozen=True)
class Tick:
    """A number beside an axis; ``at`` is where, in the drawing's units."""

    at: float
    label: str


@dataclass(frozen=True)
class Line:
    """One run's line: the points as SVG writes them, and the last."""

    name: str
    points: str
    end: tuple[float, float]
    last: str


@dataclass(frozen=True)
class Chart:
    """A drawing with one line for each run; ``over`` says what is counted along it."""

    title: str
    lines: tuple[Line, ...]
    across: tuple[Tick, ...]
    up: tuple[Tick, ...]
    over: str = EPISODES


@dataclass(frozen=True)
class Scale:
    """Where numbers are in the drawing: ``longest`` lies at its right end, ``top`` at its upper one."""

    longest: int
    top: float

    def x(self, number: float) -> float:
        """How far to the right."""
        return round(LEFT + (WIDTH - LEFT - RIGHT) * (number / self.longest), 1)

    def y(self, value: float) -> float:
        """How far down."""
        return round(HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * (value / self.top), 1)


def charts(runs: Sequence[RunRead]) -> list[Chart]:
    """Success, calls and tokens so far, over the episodes in the order in which they ended."""
    drawn = [_chart("Solved, of the episodes that had ended", runs, _solved_so_far, QUARTERS, "{:.1%}".format)]
    if any(run.cost.calls for run in runs):
        drawn.append(_chart("Model calls within episodes so far", runs, _so_far(lambda each: each.cost.calls)))
        drawn.append(_chart("Tokens within episodes so far", runs, _so_far(lambda each: each.cost.tokens)))
    return drawn + learning_curves(runs)


def learning_curves(runs: Sequence[RunRead]) -> list[Chart]:
    """Success by building tasks, where some of the runs test what one building run knew after different numbers.

    Likewise by an option of the method, where runs differ in nothing else.
    """
    drawn = [_curve("Success by building tasks", BUILDING_TASKS, _by_after(runs), _tested)]
    for option, over in BY_OPTION.items():
        drawn.append(_curve(f"Success by {option}", over, _by_option(runs, option), _played_by(option)))
    return [chart for chart in drawn if chart is not None]


Curve = Mapping[int, RunRead]
"""Runs that are alike, by the number that differs."""


def _by_after(runs: Sequence[RunRead]) -> list[Curve]:
    alike: dict[str, dict[int, RunRead]] = {}
    for run in runs:
        config = run.run.config
        if config.after is not None and run.episodes:
            alike.setdefault(config.model_copy(update={"after": None}).model_dump_json(), {})[config.after] = run
    return list(alike.values())


def _by_option(runs: Sequence[RunRead], option: str) -> list[Curve]:
    alike: dict[str, dict[int, RunRead]] = {}
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


def _curve(title: str, over: str, curves: Sequence[Curve], named: Callable[[Config], str]) -> Chart | None:
    series = [(named(_config(alike)), _solved_at(alike)) for alike in curves if len(alike) > 1]
    if not series:
        return None
    scale = Scale(max(points[-1][0] for _, points in series), 1.0)
    lines = tuple(_drawn(name, points, scale, "{:.1%}".format) for name, points in series)
    up = tuple(Tick(scale.y(number), label) for number, label in QUARTERS)
    return Chart(title, lines, _across(scale), up, over)


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


def _solved_at(alike: Curve) -> list[tuple[int, float]]:
    summaries = {number: alike[number].summary() for number in sorted(alike)}
    return [(number, summary.solved / max(summary.tasks, 1)) for number, summary in summaries.items()]


def _chart(
    title: str,
    runs: Sequence[RunRead],
    values_of: Callable[[RunRead], list[float]],
    upright: Sequence[tuple[float, str]] | None = None,
    told: Callable[[float], str] = "{:,.0f}".format,
) -> Chart:
    """``upright`` fixes the numbers of that axis; else they follow from the values."""
    series = {run.name: values_of(run) for run in runs if run.order}
    longest = max(map(len, series.values()), default=1)
    up = upright or round_numbers(max((max(values) for values in series.values()), default=1.0))
    scale = Scale(longest, up[-1][0])
    return Chart(
        title,
        tuple(_line(name, values, scale, told) for name, values in series.items()),
        _across(scale),
        tuple(Tick(scale.y(number), label) for number, label in up),
    )


def _line(name: str, values: list[float], scale: Scale, told: Callable[[float], str]) -> Line:
    return _drawn(name, _thinned(list(enumerate(values, 1))), scale, told)


def _drawn(name: str, values: Sequence[tuple[int, float]], scale: Scale, told: Callable[[float], str]) -> Line:
    points = [(scale.x(number), scale.y(value)) for number, value in values]
    return Line(name, " ".join(f"{x},{y}" for x, y in points), points[-1], told(values[-1][1]))


def _across(scale: Scale) -> tuple[Tick, ...]:
    numbers = round_numbers(scale.longest)
    return tuple(Tick(scale.x(n), label) for n, label in numbers if n <= scale.longest and n % 1 == 0)


def _solved_so_far(run: RunRead) -> list[float]:
    solved = accumulate(run.episodes[index].ending.outcome.solved for index in run.order)
    return [count / number for number, count in enumerate(solved, 1)]


def _so_far(of: Callable[[Played], float]) -> Callable[[RunRead], list[float]]:
    """What the episodes that had ended had cost together; what was spent outside them is no part of it."""
    return lambda run: list(accumulate(of(run.episodes[index]) for index in run.order))


def _thinned(points: list[tuple[int, float]]) -> list[tuple[int, float]]:
    """Some of the points, evenly, always with the last."""
    step = -(-len(points) // MOST_POINTS)
    return [*points[:-1:step], points[-1]]


def round_numbers(top: float) -> list[tuple[float, str]]:
    """From 0 up in three to five steps of 1, 2 or 5 times a power of ten, the last at or above ``top``."""
    rough = max(top, 1.0) / 4
    power = 10.0 ** floor(log10(rough))
    step = next(factor * power for factor in (1, 2, 5, 10) if factor * power >= rough)
    count = -(-max(top, 1.0) // step)
    return [(step * number, short(step * number)) for number in range(int(count) + 1)]


def short(number: float) -> str:
    """A number as an axis shows it: 1,500 is 1.5k."""
    for size, letter in ((1e6, "M"), (1e3, "k")):
        if number >= size:
            return f"{number / size:g}{letter}"
    return f"{number:g}"
