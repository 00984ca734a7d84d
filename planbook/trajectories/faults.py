"""What an episode in the schema can have wrong although every field of it is in order."""

from collections import Counter
from collections.abc import Iterator
from typing import TYPE_CHECKING

from planbook.figures.causes import UNPLAYED

if TYPE_CHECKING:
    from planbook.trajectories.parts import Happened, Somewhere
    from planbook.trajectories.schema import RoundPlayed, Trajectory


def faults_of(trajectory: "Trajectory") -> Iterator[str]:
    """All of them, in words."""
    yield from _orders(trajectory)
    yield from _numbers(trajectory)
    yield from _scopes(trajectory)
    for each in trajectory.rounds:
        yield from _cells(each)
        yield from _undone(each)
    yield from _ending(trajectory)


def parts_of(trajectory: "Trajectory") -> Iterator["Somewhere"]:
    """What the method and its models did, without the rounds."""
    for parts in ("subtasks", "goals", "plans", "branches", "nodes", "calls"):
        yield from getattr(trajectory, parts)


def _orders(trajectory: "Trajectory") -> Iterator[str]:
    happened: list[Happened] = [*trajectory.rounds, *parts_of(trajectory)]
    happened += [] if trajectory.told is None else [trajectory.told]
    orders = Counter(each.order for each in happened)
    for played in trajectory.rounds:
        orders.update(each.order for each in (*played.rewinds, *(s for cell in played.cells for s in cell.steps)))
        orders.update(cell.order for cell in played.cells if cell.order is not None)
    if twice := sorted(order for order, count in orders.items() if count > 1):
        yield f"the order {twice[0]} is that of several things"


def _numbers(trajectory: "Trajectory") -> Iterator[str]:
    numbers = [each.number for each in trajectory.rounds]
    if numbers != list(range(len(numbers))):
        yield f"the rounds are numbered {numbers}, not one after the other from 0"
    begun = [each.order for each in trajectory.rounds]
    if begun != sorted(begun):
        yield "the rounds do not stand in the order of time"


def _scopes(trajectory: "Trajectory") -> Iterator[str]:
    known = {f"round/{each.number}" for each in trajectory.rounds}
    scopes = {each.scope for each in parts_of(trajectory)}
    if lost := sorted(scope for scope in scopes if "/".join(scope.split("/")[:2]) not in known):
        yield f"{lost[0]} lies in a round that is not there"


def _cells(played: "RoundPlayed") -> Iterator[str]:
    home = f"round/{played.number}"
    scopes = [*(cell.scope for cell in played.cells), *(rewind.scope for rewind in played.rewinds)]
    if outside := [scope for scope in scopes if not f"{scope}/".startswith(f"{home}/")]:
        yield f"{outside[0]} is no scope of {home}, where it stands"
    numbers = Counter((cell.scope, cell.number) for cell in played.cells)
    if twice := [name for name, count in numbers.items() if count > 1]:
        yield f"{home}: the cell {twice[0][1]} of {twice[0][0]} stands there twice"
    for cell in played.cells:
        if (cell.order is None) != (cell.feedback is None):
            yield f"{home}: a cell has an order if and only if it has feedback (cell {cell.number} of {cell.scope})"
        if cell.order is not None and any(step.order > cell.order for step in cell.steps):
            yield f"{home}: steps of cell {cell.number} of {cell.scope} come after its end"


def _undone(played: "RoundPlayed") -> Iterator[str]:
    steps = sorted((step for cell in played.cells for step in cell.steps), key=lambda step: step.order)
    undone = {
        step.order
        for rewind in played.rewinds
        for step in [step for step in steps if step.order < rewind.order][rewind.kept :]
    }
    if wrong := [step for step in steps if step.undone != (step.order in undone)]:
        said = (
            "is marked undone, and no rewind undoes it" if wrong[0].undone else "is undone by a rewind, and not marked"
        )
        yield f"round/{played.number}: the step of order {wrong[0].order} {said}"


def _ending(trajectory: "Trajectory") -> Iterator[str]:
    ending = trajectory.ending
    if ending.outcome.solved != ending.verdict.solved and ending.outcome not in UNPLAYED:
        yield f"the outcome is {ending.outcome}, and the verdict says {'' if ending.verdict.solved else 'not '}solved"
    if ending.outcome.solved == bool(ending.cause):
        yield f"a cause is told of an episode if and only if it was not solved; the outcome is {ending.outcome}"
    if not trajectory.rounds and ending.outcome not in UNPLAYED:
        yield f"the outcome is {ending.outcome}, and there is no round"
