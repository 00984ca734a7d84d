"""The events in which `planbook build` records what it learned: one event ``learnt`` for each step of learning.

A scope is a path, such as ``learn/3``, under which events are stored. A group is a set of task types that share their
rules.
"""

import itertools
import re
from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any

from planbook.config import LearningSettings
from planbook.planner import Body, JournalMismatch, Roles, Scope, UnusableReply
from planbook.runs import Entry, Run
from planbook.store import RESTART, Watch, restart_scope

if TYPE_CHECKING:
    from planbook.knowledge.learned import KnowledgeState

EVERYTHING = "all"
"""The group of all tasks. It is the only group unless each task type has rules of its own."""
LEARNED = re.compile(rf"learn/(\d+)({RESTART}\d+)?")
"""Matches the scope of a step of learning. The first group is the number of the episode."""
SPOILT = "spoilt"
"""Key in the event of a failed step, whose value is the reason. Such a step is restarted."""


def learn_once(run: Run, path: str, roles: Roles, make: Callable[[Scope], Body], watch: Watch | None = None) -> Any:
    """Return the recorded result of a step, or carry it out with ``make`` and record its result as a ``learnt`` event.

    ``watch`` is called with every new event. If ``make`` no longer repeats the recorded events of an unfinished step,
    for example after the user has undone changes, the step is restarted in the scope ``PATH/restart/N``. Raises
    UnusableReply if a model gives no usable reply; the next call then restarts the step. Raises ModelError or
    BudgetEnded if a model cannot be asked.
    """
    for attempt in _attempts(path):
        scope = Scope(run.journal(attempt, watch), attempt, roles)
        try:
            learned = scope.get_or_record("learnt", partial(make, scope))
        except JournalMismatch as mismatch:
            scope.journal.put(attempt, "learnt", 0, {SPOILT: str(mismatch)})
        except UnusableReply as unusable:
            scope.journal.put(attempt, "learnt", 0, {SPOILT: str(unusable)})
            raise
        else:
            if SPOILT not in learned:
                return learned
    raise AssertionError("there is always another attempt")


def learned_event(run: Run, path: str) -> Any:
    """Return the body of a step's ``learnt`` event, or None if the step is not finished."""
    return next((row.body for row in run.store.events(path, "learnt") if SPOILT not in row.body), None)


def _attempts(path: str) -> Iterator[str]:
    yield path
    yield from (restart_scope(path, number) for number in itertools.count(1))


def group_of(learning: LearningSettings, task_type: str) -> str:
    """Return the group that a task type belongs to."""
    return task_type if learning.per_type else EVERYTHING


def initial_state_path(group: str) -> str:
    """Return the scope in which the initial knowledge of a group is recorded."""
    return f"beginning/{group}"


def learning_path(entry: Entry) -> str:
    """Return the scope in which learning from an episode is recorded."""
    return f"learn/{entry.index}"


def formulating_path(group: str, state: "KnowledgeState") -> str:
    """Return the scope in which writing a manual from the current rules is recorded."""
    return f"formulate/{group}/{len(state.history.entries)}"
