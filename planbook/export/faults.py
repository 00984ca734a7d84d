"""Faults of an episode from elsewhere whose fields are each in order: its parts contradict each other.

Whether they fit is not checked one by one: the episode is put into events and read back, as importing does.
"""

import json
import re
from collections.abc import Iterator
from typing import Any

from planbook.planner import Trajectory, read_trajectory, rows_of
from planbook.store import Event

PLACE = "task/0"
"""The place of an episode while it is read back."""
SCOPE = re.compile(r"round/\d{1,6}(/[^/\x00-\x1f]{1,60}/\d{1,6}){0,8}")
"""The scopes that a file may name; what is imported lies nowhere else in its run."""
ORDERS: Any = {
    "recall": {"order"},
    "rounds": {"__all__": {"order": True, **{part: {"__all__": {"order"}} for part in ("cells", "steps", "rewinds")}}},
    "spans": {"__all__": {"order", "end"}},
    "calls": {"__all__": {"order"}},
}
"""The numbers of moments, which are counted anew when an episode is read; their order stays."""


def faults_of(trajectory: Trajectory) -> Iterator[str]:
    """Give what is wrong with an episode from elsewhere whose fields are each in order."""
    ending, parts = trajectory.ending, [*trajectory.spans, *trajectory.calls, *_inside(trajectory)]
    if not trajectory.run.planner:
        yield "run: nothing is said of the run that the episode comes from"
    if ending.outcome.solved != ending.verdict.solved and ending.outcome.played:
        yield f"the outcome is {ending.outcome}, and the verdict says {'' if ending.verdict.solved else 'not '}solved"
    if ending.outcome.solved == bool(ending.cause):
        yield f"a cause is told of an episode if and only if it was not solved; the outcome is {ending.outcome}"
    if not trajectory.rounds and ending.outcome.played:
        yield f"the outcome is {ending.outcome}, and there is no round"
    if strange := sorted(scope for scope in {part.scope for part in parts} if not SCOPE.fullmatch(scope)):
        yield f"{strange[0][:60]!r} is no scope; one is written like round/0/plan/1"
    else:
        yield from _read_back(trajectory)


def _inside(trajectory: Trajectory) -> list[Any]:
    return [part for each in trajectory.rounds for part in (*each.cells, *each.steps, *each.rewinds)]


def _read_back(trajectory: Trajectory) -> Iterator[str]:
    """Give the first thing that is another one when the episode is read from the events that it is stored as."""
    try:
        json.dumps(trajectory.model_dump(), allow_nan=False, default=str)
    except ValueError:
        yield "a number is NaN or infinite, which is none of JSON's"
        return
    try:
        events = [Event(scope, kind, n, dict(body), 0.0) for scope, kind, n, body in rows_of(trajectory, PLACE)]
        again = read_trajectory(PLACE, events, trajectory.task)
    except (LookupError, ValueError) as error:
        yield f"its parts do not fit together: {error!r}"
        return
    ours, theirs = (each.model_dump(exclude={"run": True, "repeat": True, **ORDERS}) for each in (again, trajectory))
    where = next(iter(_different(theirs, ours)), None)
    if where is not None:
        yield f"{where} does not fit the rest of the episode"


def _different(one: Any, other: Any, where: str = "") -> Iterator[str]:
    """Give the dotted names of what two values differ in."""
    if type(one) is not type(other) or not isinstance(one, dict | tuple | list) or len(one) != len(other):
        yield from [where.lstrip(".")] if one != other else []
        return
    for name in one if isinstance(one, dict) else range(len(one)):
        yield from _different(one[name], other[name], f"{where}.{name}") if one[name] != other[name] else ()
