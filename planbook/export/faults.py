"""Faults of an episode from elsewhere whose fields are each in order, such as a step outside its round."""

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from planbook.planner import Round, Trajectory

SCOPE = re.compile(r"round/\d{1,6}(/[^/\x00-\x1f]{1,60}/\d{1,6})*")
LONGEST_SCOPE = 240
"""Characters."""


def faults_of(trajectory: Trajectory) -> Iterator[str]:
    """Give all faults, in words."""
    if not trajectory.run.planner:
        yield "run: nothing is said of the run that the episode comes from"
    yield from _orders(trajectory)
    yield from _numbers(trajectory)
    yield from _scopes(trajectory)
    for each in trajectory.rounds:
        yield from _cells(each)
        yield from _undone(each)
    yield from _ending(trajectory)


def _orders(trajectory: Trajectory) -> Iterator[str]:
    parts: list[Any] = [part for each in trajectory.rounds for part in (*each.steps, *each.cells)]
    if any(part.order is None for part in parts):
        yield "a step or a cell has no order"
    happened: list[Any] = [*trajectory.rounds, *trajectory.spans, *trajectory.calls, *parts]
    orders = Counter(each.order for each in (*happened, *(r for each in trajectory.rounds for r in each.rewinds)))
    orders.update(span.end for span in trajectory.spans if span.end not in (None, span.order))
    if trajectory.recall is not None:
        orders[trajectory.recall.order] += 1
    if twice := sorted(order for order, count in orders.items() if order is not None and count > 1):
        yield f"the order {twice[0]} is that of several things"
    if back := [span for span in trajectory.spans if span.end is not None and span.end < span.order]:
        yield f"the span of order {back[0].order} ends before it begins"


def _numbers(trajectory: Trajectory) -> Iterator[str]:
    numbers = [each.number for each in trajectory.rounds]
    if numbers != list(range(len(numbers))):
        yield f"the rounds are numbered {numbers}, not one after the other from 0"
    begun = [each.order for each in trajectory.rounds]
    if begun != sorted(begun):
        yield "the rounds do not stand in the order of time"


def _scopes(trajectory: Trajectory) -> Iterator[str]:
    outside: list[Any] = [*trajectory.spans, *trajectory.calls]
    scopes: set[str] = {each.scope for each in outside}
    inside = [(each.number, _scopes_in(each)) for each in trajectory.rounds]
    for scope in sorted(scopes.union(*(found for _, found in inside))):
        if len(scope) > LONGEST_SCOPE or not SCOPE.fullmatch(scope):
            yield f"{scope[:60]!r} is no scope; one is written like round/0/plan/1"
    known = {f"round/{number}" for number, _ in inside}
    if lost := sorted(scope for scope in scopes if "/".join(scope.split("/")[:2]) not in known):
        yield f"{lost[0]} lies in a round that is not there"
    for number, found in inside:
        if astray := sorted(scope for scope in found if not f"{scope}/".startswith(f"round/{number}/")):
            yield f"{astray[0]} is no scope of round/{number}, where it stands"


def _scopes_in(played: Round) -> set[str]:
    parts: list[Any] = [*played.cells, *played.steps, *played.rewinds]
    return {part.scope for part in parts}


def _cells(played: Round) -> Iterator[str]:
    home = f"round/{played.number}"
    ended = {(cell.scope, cell.number): cell.order or 0 for cell in played.cells}
    if len(ended) < len(played.cells):
        numbers = Counter((cell.scope, cell.number) for cell in played.cells)
        scope, number = next(name for name, count in numbers.items() if count > 1)
        yield f"{home}: the cell {number} of {scope} stands there twice"
    for step in played.steps:
        if (step.order or 0) > ended.get((step.scope, step.cell), step.order or 0):
            yield f"{home}: steps of cell {step.cell} of {step.scope} come after its end"
            return


def _undone(played: Round) -> Iterator[str]:
    orders = [step.order or 0 for step in played.steps]
    if orders != sorted(orders):
        yield f"round/{played.number}: the steps do not stand in the order of time"
        return
    undone = {
        order
        for rewind in played.rewinds
        for order in [order for order in orders if order < rewind.order][rewind.kept :]
    }
    if wrong := [step for step in played.steps if step.undone != (step.order in undone)]:
        said = (
            "is marked undone, and no rewind undoes it" if wrong[0].undone else "is undone by a rewind, and not marked"
        )
        yield f"round/{played.number}: the step of order {wrong[0].order} {said}"


def _ending(trajectory: Trajectory) -> Iterator[str]:
    ending = trajectory.ending
    if ending.outcome.solved != ending.verdict.solved and ending.outcome.played:
        yield f"the outcome is {ending.outcome}, and the verdict says {'' if ending.verdict.solved else 'not '}solved"
    if ending.outcome.solved == bool(ending.cause):
        yield f"a cause is told of an episode if and only if it was not solved; the outcome is {ending.outcome}"
    if not trajectory.rounds and ending.outcome.played:
        yield f"the outcome is {ending.outcome}, and there is no round"
