"""The record of learning in a building run: its steps, and the scopes of their events."""

import itertools
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from planbook.config import Learning
from planbook.planner import Body, JournalMismatch, Roles, Scope, UnusableReply
from planbook.runs import Entry, Run
from planbook.store import RESTART, Watch, started_over

if TYPE_CHECKING:
    from planbook.knowledge.state import KnowledgeState

EVERYTHING = "all"
"""The group of all tasks, unless rules are kept for each type."""
LEARNED = re.compile(rf"learn/(\d+)({RESTART}\d+)?")
SPOILT = "spoilt"
"""Key of the reason in the event of a failed step, which is then started over."""


def learn_once(run: Run, path: str, roles: Roles, make: Callable[[Scope], Body], watch: Watch | None = None) -> Any:
    """Return the ``learnt`` event of a step, made once by ``make``; ``watch`` is called with every new event.

    A step starts over, in ``PATH/restart/N``, if its record no longer fits, for example after an undo by hand; and on
    the next call if a reply was unusable. Raises UnusableReply, ModelError, BudgetEnded.
    """
    for attempt in _attempts(path):
        scope = Scope(run.journal(attempt, watch), attempt, roles)
        try:
            learned = scope.once("learnt", partial(make, scope))
        except JournalMismatch as mismatch:
            scope.journal.put(attempt, "learnt", 0, {SPOILT: str(mismatch)})
        except UnusableReply as unusable:
            scope.journal.put(attempt, "learnt", 0, {SPOILT: str(unusable)})
            raise
        else:
            if SPOILT not in learned:
                return learned
    raise AssertionError("there is always another attempt")


def learned_at(run: Run, path: str) -> Any:
    """Return the ``learnt`` event of a step, or None if it is not finished."""
    return next((row.body for row in run.store.events(path, "learnt") if SPOILT not in row.body), None)


def _attempts(path: str) -> Iterator[str]:
    yield path
    yield from (started_over(path, number) for number in itertools.count(1))


def group_of(learning: Learning, task_type: str) -> str:
    """Return the group of tasks that shares the rules of a type."""
    return task_type if learning.per_type else EVERYTHING


def beginning_path(group: str) -> str:
    """Return the scope in which the initial knowledge of a group is recorded."""
    return f"beginning/{group}"


def learning_path(entry: Entry) -> str:
    """Return the scope of the learning from an episode."""
    return f"learn/{entry.index}"


def formulating_path(group: str, state: "KnowledgeState") -> str:
    """Return the scope in which the present rules are formulated."""
    return f"formulate/{group}/{len(state.history.entries)}"
