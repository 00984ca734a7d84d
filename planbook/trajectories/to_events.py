"""The events of an episode that is told in the schema, as a run's store holds them."""

from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

from planbook.planner import Body, EventKind
from planbook.trajectories.from_events import PARTS
from planbook.trajectories.schema import RoundPlayed, Trajectory

Row = tuple[str, EventKind, int, Body]
"""Scope, kind, number and body."""


class _Moment(NamedTuple):
    order: int
    scope: str
    kind: EventKind
    body: dict[str, Any]


def rows_of(trajectory: Trajectory, path: str) -> list[Row]:
    """The episode's events at a place of a run, in the order of time."""
    numbers: Counter[tuple[str, EventKind]] = Counter()
    rows: list[Row] = []
    for _, scope, kind, body in sorted(_moments(trajectory, path), key=lambda moment: moment.order):
        rows.append((scope, kind, numbers[scope, kind], body))
        numbers[scope, kind] += 1
    return [*rows, (path, "outcome", 0, trajectory.ending.model_dump(mode="json"))]


def _moments(trajectory: Trajectory, path: str) -> Iterator[_Moment]:
    if trajectory.told is not None:
        yield _Moment(trajectory.told.order, path, "recall", trajectory.told.model_dump(mode="json", exclude={"order"}))
    for played in trajectory.rounds:
        task = played.task or trajectory.task
        yield from _round(played, f"{path}/round/{played.number}", path, task.model_dump(mode="json"))
    kinds: dict[str, EventKind] = {field: kind for kind, field in PARTS.items()}  # type: ignore[misc]
    for field, kind in kinds.items():
        for part in getattr(trajectory, field):
            body = part.model_dump(mode="json", exclude={"order", "scope"})
            yield _Moment(part.order, f"{path}/{part.scope}", kind, body)


def _round(played: RoundPlayed, scope: str, path: str, task: dict[str, Any]) -> Iterator[_Moment]:
    told = played.model_dump(mode="json")
    yield _Moment(played.order, scope, "task", {"task": task, "observation": told["observation"]})
    for cell in told["cells"]:
        frame, steps = f"{path}/{cell.pop('scope')}", cell.pop("steps")
        for step in steps:
            order = step.pop("order")
            del step["undone"]  # what undid it says so
            yield _Moment(order, scope, "act", {"scope": frame, "cell": cell["number"], **step})
        order = cell.pop("order")
        if order is not None:
            yield _Moment(order, scope, "cell", {"scope": frame, **cell})
    for rewind in told["rewinds"]:
        body = {"path": f"{path}/{rewind['scope']}", "steps": rewind["kept"]}
        yield _Moment(rewind["order"], scope, "rewind", body)
