"""Steps of learning that are done once: answered from the record, or, where that no longer fits, done anew."""

from collections.abc import Callable, Iterator
from functools import partial
from itertools import count
from typing import Any

from planbook.planner import Body, JournalMismatch, Roles, Scope, UnusableReply
from planbook.run import Run
from planbook.store import Watch, started_over

SPOILT = "spoilt"
"""Marks the one event of a step that came to nothing, and says why; the step was begun anew."""


def once(run: Run, path: str, roles: Roles, make: Callable[[Scope], Body], watch: Watch | None = None) -> Any:
    """The ``learnt`` event of a step, made the first time; ``watch`` is told of every new event.

    What was recorded of a step under way may answer questions that are asked no more, such as after an undo by hand,
    and replies that could not be used are not worth repeating. The step then begins anew, in ``PATH/restart/N``.
    Raises UnusableReply, ModelError, BudgetEnded.
    """
    for place in _places(path):
        scope = Scope(run.journal(place, watch), place, roles)
        try:
            learnt = scope.once("learnt", partial(make, scope))
        except JournalMismatch as mismatch:
            scope.journal.put(place, "learnt", 0, {SPOILT: str(mismatch)})
        except UnusableReply as unusable:
            scope.journal.put(place, "learnt", 0, {SPOILT: str(unusable)})
            raise
        else:
            if SPOILT not in learnt:
                return learnt
    raise AssertionError("there is always another place")


def already(run: Run, path: str) -> Any:
    """What was learnt at a step that is done, else None."""
    return next((row.body for row in run.store.events(path, "learnt") if SPOILT not in row.body), None)


def _places(path: str) -> Iterator[str]:
    yield path
    yield from (started_over(path, number) for number in count(1))
