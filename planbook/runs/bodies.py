"""Checks the bodies of the events that are read. A run may come from a stranger, or its file may be damaged."""

from collections.abc import Mapping
from typing import Any, Literal

from pydantic import BaseModel, JsonValue, TypeAdapter, ValidationError

from planbook.envs import Observation, Task, validation_faults
from planbook.planner import Call, Cell, Ending, Recall, Step
from planbook.runs.folder import RunInputs


class _TaskBody(BaseModel):
    """A task of the run, or the beginning of an episode, which also has a first observation."""

    task: Task
    observation: Observation | None = None


class _SittingBody(BaseModel):
    seconds: float = 0.0
    again: tuple[str, ...] = ()
    made_of: RunInputs | None = None


class _RewindBody(BaseModel):
    path: str
    steps: int


class _SpanBegin(BaseModel):
    at: Literal["begin", "moment"]
    name: str
    data: dict[str, JsonValue]


class _SpanChange(BaseModel):
    at: Literal["update", "end"]
    of: int
    title: str
    status: str
    data: dict[str, JsonValue]


BODIES: Mapping[str, TypeAdapter[Any]] = {
    "task": TypeAdapter(_TaskBody),
    "act": TypeAdapter(Step),
    "cell": TypeAdapter(Cell),
    "ask": TypeAdapter(Call),
    "recall": TypeAdapter(Recall),
    "rewind": TypeAdapter(_RewindBody),
    "span": TypeAdapter(_SpanBegin | _SpanChange),
    "outcome": TypeAdapter(Ending),
    "sitting": TypeAdapter(_SittingBody),
}
"""Maps kinds of events to the types of their bodies. The bodies of other kinds may be any objects."""
PLACE = {"order": 0, "scope": ""}
"""Fields of a model call that are not in the body of its event, but follow from the event's place."""


def check_body(kind: str, body: Any) -> None:
    """Raise ValueError if the body of an event of this kind is not what planbook records."""
    try:
        if kind in BODIES:
            BODIES[kind].validate_python({**body, **PLACE} if kind == "ask" else body)
    except ValidationError as error:
        raise ValueError(validation_faults(error)[0]) from error
