"""What a reader has to know to trust the figures: what is counted, what broke, and what the run was made of."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from planbook.figures.summary import TYPE_SOLVED
from planbook.report.reading import Played, RunRead
from planbook.report.tables import settings
from planbook.run import CONFIG_FILE
from planner import Outcome
from planner.ending import NOT_JUDGED

MEANINGS: Mapping[Outcome, str] = {
    Outcome.DIRECT_SUCCESS: "solved, and no cell ended in an error",
    Outcome.INDIRECT_SUCCESS: "solved, after at least one error",
    Outcome.FAILURE: "played to the end of what its method does, and not solved",
    Outcome.OUT_OF_BUDGET: "not solved when its actions, or what else an episode may use, were used up",
    Outcome.BROKEN: "ended through a fault that is not the agent's: ours, the world's or the model server's",
    Outcome.NOT_RUN: "not played, or not to its end: the run was stopped, or what it may spend was spent",
}
"""What the outcomes mean, in words."""
TOLD_ELSEWHERE = ("config", "begun")
"""Parts of run.json that the page shows under what was asked."""


@dataclass(frozen=True)
class Trust:
    """``outcomes`` are all that there can be, with how many episodes ended so: together they are all tasks."""

    outcomes: Sequence[tuple[Outcome, int, str]]
    tasks: int
    solved: int
    left_out: int
    """Building episodes that were left out on purpose, as their type had been solved often enough: not counted."""
    broken: Sequence[Played]
    not_run: Sequence[Played]
    not_judged: Sequence[Played]
    made_of: Mapping[str, Sequence[tuple[str, str]]]
    """What the run was made of, by part: names and values."""


def trust(run: RunRead) -> Trust:
    """What is to be told of a run."""
    every = list(run.episodes.values())
    counted = [each for each in every if each.ending.cause != TYPE_SOLVED]
    counts = Counter(each.ending.outcome for each in counted)
    return Trust(
        outcomes=[(outcome, counts[outcome], meaning) for outcome, meaning in MEANINGS.items()],
        tasks=len(counted),
        solved=sum(count for outcome, count in counts.items() if outcome.solved),
        left_out=len(every) - len(counted),
        broken=_with_outcome(counted, Outcome.BROKEN),
        not_run=_with_outcome(counted, Outcome.NOT_RUN),
        not_judged=[each for each in counted if each.ending.cause == NOT_JUDGED],
        made_of=made_of(run),
    )


def _with_outcome(played: Sequence[Played], outcome: Outcome) -> list[Played]:
    return [each for each in played if each.ending.outcome is outcome]


def made_of(run: RunRead) -> dict[str, list[tuple[str, str]]]:
    """All that run.json says beside what was asked, whatever parts it has, and what the world said that it was."""
    with suppress(OSError, ValueError):
        told: dict[str, Any] = json.loads((run.run.folder / CONFIG_FILE).read_text(encoding="utf-8"))
        parts = {name: value for name, value in told.items() if name not in TOLD_ELSEWHERE}
        alone = {name: value for name, value in parts.items() if not isinstance(value, dict)}
        grouped = {name: value for name, value in parts.items() if isinstance(value, dict)}
        found = {**{name: list(settings(value)) for name, value in grouped.items()}, "more": list(settings(alone))}
        found["the world, as it was played"] = list(settings(run.versions))
        found["seeds"] = _seeds(run)
        return {name.replace("_", " "): rows for name, rows in found.items() if rows}
    return {}


def _seeds(run: RunRead) -> list[tuple[str, str]]:
    seeds = sorted({played.entry.task.seed for played in run.episodes.values() if played.entry.task.seed is not None})
    told = ", ".join(map(str, seeds[:20])) + (f" and {len(seeds) - 20} more" if len(seeds) > 20 else "")
    repeats = run.run.config.repeats
    return [("of the run", str(run.run.config.seed)), ("of the tasks", told), ("repeats", str(repeats))]
