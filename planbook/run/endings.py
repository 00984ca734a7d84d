"""How the episodes of a run ended, as its store holds it; of those that were started over, the last time."""

from collections.abc import Iterable
from typing import Any

from planbook.planner import Ending
from planbook.run.file import Entry, index_of
from planbook.run.run import Run

DIVERGED = "diverged"
"""The cause of an ending in whose place the episode was started over: its record could not be repeated."""
AGAIN = "again"
"""Stands in a sitting that plays episodes again, with the scopes of their endings up to then."""


def set_aside(run: Run) -> frozenset[str]:
    """The scopes of endings that do not count, because a later sitting was to play these episodes again."""
    sittings: Iterable[Any] = run.sittings
    return frozenset(path for body in sittings for path in body.get(AGAIN, ()))


def recorded_endings(run: Run) -> dict[int, Ending]:
    """The endings that a run holds, by index; of an episode that was started over, the last."""
    endings: dict[int, Ending] = {}
    aside = set_aside(run)
    for row in run.store.events("task", "outcome"):
        ending = Ending.model_validate(row.body)
        if ending.cause != DIVERGED and row.scope not in aside:
            endings[index_of(row.scope)] = ending
    return endings


def last_path(run: Run, entry: Entry) -> str:
    """The scope of an episode as it was last started over."""
    scopes = [row.scope for row in run.store.events(entry.path, "outcome")]
    return scopes[-1]
