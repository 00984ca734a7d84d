"""How a building run came along: each episode with its errors, and what was known after it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from planbook.knowledge import LEARNT, SPOILT, group_of
from planbook.outcomes import outcome_of
from planbook.report.charts.chart import Axis, Chart, colour, layout, plain, whole
from planbook.results import Result, RunResults
from planbook.wording import counted

KNOWN = ("rules", "skills", "reflections", "procedures")
NUMBER = "number of the episode"


@dataclass(frozen=True)
class Learning:
    """What was known after an episode, all groups of tasks together, counted by the names in ``KNOWN``."""

    index: int
    counts: tuple[int, ...]


def learning(run: RunResults) -> list[Learning]:
    """A step for each episode that was learnt from, in the order in which that was done."""
    if run.run.config.learning is None:
        return []
    known: dict[str, tuple[int, ...]] = {}
    steps = []
    for event in (each for each in run.outside if each.kind == "learnt"):
        match, body = LEARNT.fullmatch(event.scope), event.body
        if match and SPOILT not in body:
            index = int(match[1])
            group = group_of(run.run.config.learning, run.episodes[index].entry.task.type)
            known[group] = _counted(body)
            steps.append(Learning(index, tuple(map(sum, zip(*known.values(), strict=True)))))
    return steps


def _counted(body: Any) -> tuple[int, ...]:
    return tuple(len(body["knowledge"][name]) for name in KNOWN)


def building(run: RunResults) -> list[Chart]:
    """Nothing for a run that learns nothing."""
    steps = learning(run)
    return [_episodes([run.episodes[step.index] for step in steps]), _known(steps)] if steps else []


def _episodes(played: Sequence[Result]) -> Chart:
    """Error steps of each episode, in the colour of how it ended; an episode without any stands as a mark alone."""
    kinds = (("solved", True, "--good"), ("not solved", False, "--bad"))
    traces = []
    for name, solved, hue in kinds:
        own = [each for each in played if each.ending.outcome.solved is solved]
        if own:
            traces += [_bars(own, hue), _marks(own, name, hue)]
    last = sum(each.ending.outcome.solved for each in played)
    up = Axis("error steps", whole(each.ending.error_steps for each in played))
    return Chart(
        "Building: success and error steps, episode by episode",
        traces,
        layout(Axis(NUMBER), up, legend=True, barmode="overlay"),
        ("episode", "task", "outcome", "error steps"),
        [
            [f"{each.index}", each.entry.task.id, outcome_of(each.ending), f"{each.ending.error_steps}"]
            for each in played
        ],
        f"{last:,} of {len(played):,} solved",
    )


def _bars(played: Sequence[Result], hue: str) -> dict[str, Any]:
    errors = [each.ending.error_steps for each in played]
    places = [each.index for each in played]
    bars = {"type": "bar", "x": places, "y": errors, "marker": {"color": hue, "opacity": 0.45}, "width": 0.7}
    return {**bars, "showlegend": False, "hoverinfo": "skip"}


def _marks(played: Sequence[Result], name: str, hue: str) -> dict[str, Any]:
    told = [
        plain(
            f"{each.index}: {each.entry.task.id}, {outcome_of(each.ending)}, "
            f"{counted(each.ending.error_steps, 'error step')}, {counted(each.ending.actions, 'action')}"
        )
        for each in played
    ]
    return {
        "type": "scatter",
        "mode": "markers",
        "name": name,
        "x": [each.index for each in played],
        "y": [each.ending.error_steps for each in played],
        "marker": {"color": hue, "size": 9, "symbol": "circle" if name == "solved" else "x"},
        "hovertext": told,
        "hoverinfo": "text",
    }


def _known(steps: Sequence[Learning]) -> Chart:
    """Lines with steps: what is known changes when an episode was learnt from, and not in between."""
    up = Axis(more=whole(count for step in steps for count in step.counts))
    return Chart(
        "Building: what was known after each episode",
        [
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": name,
                "x": [step.index for step in steps],
                "y": [step.counts[at] for step in steps],
                "line": {"color": colour(at), "shape": "hv", "width": 2},
                "marker": {"size": 5},
                "hovertemplate": f"{name}: %{{y}}<extra></extra>",
            }
            for at, name in enumerate(KNOWN)
        ],
        layout(Axis(NUMBER), up, legend=True, hovermode="x unified"),
        ("episode", *KNOWN),
        [[f"{step.index}", *map(str, step.counts)] for step in steps],
        counted(steps[-1].counts[0], "rule"),
    )
