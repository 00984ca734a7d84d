"""Columns of papers' tables that are no shares of tasks solved: what we have for them is a figure of the whole run."""

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from planbook.papers.played import Played
from planbook.results import overall

REWARD = "reward"
Figure = Callable[[Played], float | None]


class Column(NamedTuple):
    """How our figure is come by, None where the run has none, and with how many digits it is told."""

    of: Figure
    spread: Figure = lambda run: None
    digits: int = 1


def _of_reward(name: str) -> Figure:
    return lambda run: getattr(overall(run.summary.measures, REWARD), name, None)


def _of_search(name: str) -> Figure:
    return lambda run: getattr(run.summary.methods.get("search"), name, None)


COLUMNS: Mapping[str, Column] = {
    "score": Column(lambda run: round(100 * run.summary.mean_score, 1)),
    "reward": Column(_of_reward("mean"), _of_reward("sd")),
    "unlock score": Column(lambda run: run.summary.unlock_score, digits=2),
    "cost": Column(lambda run: run.summary.money, digits=2),
    "error steps": Column(lambda run: run.summary.mean_error_steps, digits=2),
    "human examples": Column(lambda run: len(run.start) or None, digits=0),
    "actions, first round": Column(_of_search("mean_actions_first"), digits=2),
    "actions, last round": Column(_of_search("mean_actions_last"), digits=2),
    "plan revisions": Column(_of_search("mean_revisions"), digits=2),
}
"""By the name of the column. A score is from 0 to 100, over all tasks; a cost is the run's, in US dollars."""


def measured(names: Iterable[str], run: Played) -> dict[str, float]:
    """Our figures for those of the columns that are such, as far as there are any."""
    figures = {name: COLUMNS[name].of(run) for name in names if name in COLUMNS}
    return {name: figure for name, figure in figures.items() if figure is not None}


def spreads(names: Iterable[str], run: Played) -> dict[str, float]:
    """Their standard deviations, likewise."""
    figures = {name: COLUMNS[name].spread(run) for name in names if name in COLUMNS}
    return {name: figure for name, figure in figures.items() if figure is not None}
