"""Columns of papers' tables that are no shares of tasks solved: what we have for them is a figure of the whole run."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from planbook.figures.measures import overall
from planbook.figures.summary import Summary

REWARD = "reward"


class Column(NamedTuple):
    """How our figure is come by, None where the run has none, and with how many digits it is told."""

    of: Callable[[Summary], float | None]
    spread: Callable[[Summary], float | None] = lambda summary: None
    digits: int = 1


def _of_reward(name: str) -> Callable[[Summary], float | None]:
    return lambda summary: getattr(overall(summary.measures, REWARD), name, None)


def _of_search(name: str) -> Callable[[Summary], float | None]:
    return lambda summary: getattr(summary.search, name, None)


COLUMNS: Mapping[str, Column] = {
    "score": Column(lambda summary: round(100 * summary.mean_score, 1)),
    "reward": Column(_of_reward("mean"), _of_reward("sd")),
    "unlock score": Column(lambda summary: summary.unlock_score, digits=2),
    "cost": Column(lambda summary: summary.money, digits=2),
    "actions, first round": Column(_of_search("mean_actions_first"), digits=2),
    "actions, last round": Column(_of_search("mean_actions_last"), digits=2),
    "plan revisions": Column(_of_search("mean_revisions"), digits=2),
}
"""By the name of the column. A score is from 0 to 100, over all tasks; a cost is the run's, in US dollars."""


def measured(names: tuple[str, ...], summary: Summary) -> dict[str, float]:
    """Our figures for those of the columns that are such, as far as there are any."""
    figures = {name: COLUMNS[name].of(summary) for name in names if name in COLUMNS}
    return {name: figure for name, figure in figures.items() if figure is not None}


def spreads(names: tuple[str, ...], summary: Summary) -> dict[str, float]:
    """Their standard deviations, likewise."""
    figures = {name: COLUMNS[name].spread(summary) for name in names if name in COLUMNS}
    return {name: figure for name, figure in figures.items() if figure is not None}
