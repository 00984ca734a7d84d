"""The events in which `planbook build` records what it learned.

The result of each step, such as learning from one episode or writing a manual, is recorded as an event ``learned``. The
events of a step are stored under a path, called a scope, such as ``learn/3``.
"""

import re
from collections.abc import Callable
from functools import partial
from itertools import chain, count
from typing import Any

from planbook.planner import Body, JournalMismatch, Roles, Scope, UnusableReply
from planbook.runs import EpisodeEntry, Run
from planbook.store import RESTART, OnEvent, restart_scope

ALL_TYPES = "all"
"""Part of the scopes and events of knowledge, which is learned for all task types together."""
INITIAL_STATE = f"beginning/{ALL_TYPES}"
"""The scope in which the initial knowledge is recorded."""
LEARNED = re.compile(rf"learn/(\d+)({RESTART}\d+)?")
"""Matches the scope in which a run learned from an episode. The first match group is the episode's number."""
FAILURE_KEY = "spoilt"
"""Key in the ``learned`` event of a failed step. Its value is the reason for the failure."""


def learn_once(
    run: Run, path: str, roles: Roles, make: Callable[[Scope], Body], on_event: OnEvent | None = None
) -> Any:
    """Return the recorded result of a step, or carry it out with ``make`` and record its result as a ``learned`` event.

    If the step was begun earlier but not finished, ``make`` must first repeat the events that it recorded then. If it
    does not, for example because the user has undone changes since, the step is restarted in the scope
    ``PATH/restart/N``. ``on_event`` is called with every new event. Raises UnusableReply if a model gives no usable
    reply; the next call then restarts the step. Raises ModelError or BudgetEnded if a model cannot be asked.
    """
    for attempt in chain([path], (restart_scope(path, number) for number in count(1))):
        scope = Scope(run.journal(attempt, on_event), attempt, roles)
        try:
            learned = scope.get_or_record("learned", partial(make, scope))
        except JournalMismatch as mismatch:
            scope.journal.put(attempt, "learned", 0, {FAILURE_KEY: str(mismatch)})
        except UnusableReply as unusable:
            scope.journal.put(attempt, "learned", 0, {FAILURE_KEY: str(unusable)})
            raise
        else:
            if FAILURE_KEY not in learned:
                return learned
    raise AssertionError("there is always another attempt")


def learned_event(run: Run, path: str) -> Any:
    """Return the body of a step's ``learned`` event, or None if the step is not finished."""
    return next((row.body for row in run.store.events(path, "learned") if FAILURE_KEY not in row.body), None)


def learning_scope(entry: EpisodeEntry) -> str:
    """Return the scope in which learning from an episode is recorded."""
    return f"learn/{entry.index}"
