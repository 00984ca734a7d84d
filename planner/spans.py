"""Spans: what a method records about its own structure, such as a subtask, a goal, a branch or a node of a graph.

A method writes ``with scope.span(Subtask(text=..., depth=2)) as span: ...; span.end(done=True)``. Reports, exports and
the terminal draw any tree of spans from their title and status; figures group them by name.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, ClassVar, Generic, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from planbook.planner.journal import EventKind, RecordedEvent

SPAN_BEGIN, SPAN_UPDATE, SPAN_END, SPAN_MOMENT = "begin", "update", "end", "moment"
"""Values of a span event's ``at``; a moment begins and ends at once."""
OLD_SPAN_KINDS: tuple[EventKind, ...] = ("subtask", "goal", "plan", "branch", "node")
"""Event kinds of planbook 0.1. Each is the end of a span of that name."""


class Payload(BaseModel):
    """Base of the data in a span. A method registers its payloads in ``Method.spans``."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    span: ClassVar[str]
    """Name of the spans that hold this payload."""
    bulky: ClassVar[frozenset[str]] = frozenset()
    """Fields that figures do not need and that are not kept when a long run is counted."""

    @property
    def title(self) -> str:
        """Describe the span in one line."""
        return ""

    @property
    def status(self) -> str:
        """Return the state in one word: empty while unknown, ``done``, ``failed`` or a word of the method's own."""
        return ""


class Claim(Payload):
    """The method's opinion on whether the whole task is done. It stands until the next action or the next claim."""

    span = "claim"

    done: bool | None
    """None withdraws an earlier claim."""
    by: str
    """Name of whoever makes the claim."""

    @property
    def title(self) -> str:
        """Return who makes the claim."""
        return self.by

    @property
    def status(self) -> str:
        """Return what is claimed."""
        return status_of(self.done)


def status_of(done: bool | None) -> str:
    """Return the status for a result; empty if there is none."""
    return {True: "done", False: "failed", None: ""}[done]


Write = Callable[[dict[str, JsonValue]], int]
"""Add a ``span`` event to a scope and return its number there."""


Held = TypeVar("Held", bound=Payload)


class Span(Generic[Held]):
    """A span that is being recorded. It can be updated after its end: a branch may be given up later."""

    def __init__(self, write: Write, payload: Held) -> None:
        self._write, self.payload, self._ended = write, payload, False
        data = payload.model_dump(mode="json")
        self._number = write({"at": SPAN_BEGIN, "name": payload.span, **_head(payload), "data": data})

    def update(self, **changes: object) -> Held:
        """Record the fields that have changed, if any, and return the payload."""
        if changed := self._changed(changes):
            self._tell(SPAN_UPDATE, changed)
        return self.payload

    def end(self, **changes: object) -> Held:
        """Record the end with the fields that have changed, and return the payload. Later calls only update."""
        if self._ended:
            return self.update(**changes)
        self._ended = True
        self._tell(SPAN_END, self._changed(changes))
        return self.payload

    def _tell(self, at: str, changed: dict[str, JsonValue]) -> None:
        self._write({"at": at, "of": self._number, **_head(self.payload), "data": changed})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        """End the span. An exception that stops the run leaves it open, since the episode resumes from there."""
        if error is None:
            self.end()

    def _changed(self, changes: Mapping[str, object]) -> dict[str, JsonValue]:
        before: dict[str, JsonValue] = self.payload.model_dump(mode="json")
        self.payload = type(self.payload).model_validate({**dict(self.payload), **changes})
        now: dict[str, JsonValue] = self.payload.model_dump(mode="json")
        return {name: value for name, value in now.items() if name not in before or before[name] != value}


def moment(payload: Payload) -> dict[str, JsonValue]:
    """Return the event of a span that begins and ends at once."""
    return {"at": SPAN_MOMENT, "name": payload.span, **_head(payload), "data": payload.model_dump(mode="json")}


def _head(payload: Payload) -> dict[str, JsonValue]:
    return {"title": payload.title, "status": payload.status}


def is_update(event: RecordedEvent) -> bool:
    """Return whether an event only changes the payload of a span."""
    return event.kind == "span" and event.body["at"] == SPAN_UPDATE


class RecordedSpan(BaseModel):
    """A span read back from the journal."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    order: int = Field(ge=0)
    """Moment of its beginning."""
    end: int | None = Field(default=None, ge=0)
    """Moment of its end; None if it is open, ``order`` if it is a moment."""
    scope: str
    name: str
    title: str = ""
    status: str = ""
    data: dict[str, JsonValue] = {}
    """The method's own payload."""


class Spans:
    """Assembles the spans of an episode from its events. ``left_out`` names fields to drop, by name of span."""

    def __init__(self, left_out: Mapping[str, frozenset[str]] | None = None) -> None:
        self._left_out = left_out or {}
        self._found: dict[tuple[str, int], dict[str, Any]] = {}
        self._numbers: dict[str, int] = {}

    def take(self, event: RecordedEvent, order: int) -> None:
        """Take the next event, of any kind; ``order`` is its moment."""
        if event.kind in OLD_SPAN_KINDS:
            self._begin((event.scope, len(self._found)), order, order, {"name": event.kind, "data": event.body})
        if event.kind != "span":
            return
        body = event.body
        number = self._numbers.get(event.scope, 0)
        self._numbers[event.scope] = number + 1
        if body["at"] in (SPAN_BEGIN, SPAN_MOMENT):
            end = order if body["at"] == SPAN_MOMENT else None
            self._begin((event.scope, number), order, end, body)
            return
        found = self._found[event.scope, body["of"]]
        found["data"] |= self._kept(found["name"], body["data"])
        found |= {"title": body["title"], "status": body["status"]}
        if body["at"] == SPAN_END:
            found["end"] = order

    def _begin(self, key: tuple[str, int], order: int, end: int | None, body: Mapping[str, Any]) -> None:
        said = {"title": body.get("title", ""), "status": body.get("status", "")}
        self._found[key] = {"order": order, "end": end, "scope": key[0], "name": body["name"], **said}
        self._found[key]["data"] = self._kept(body["name"], body["data"])

    def _kept(self, name: str, data: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        left_out = self._left_out.get(name, frozenset())
        return {field: value for field, value in data.items() if field not in left_out}

    def recorded(self) -> Iterator[RecordedSpan]:
        """Yield the spans in the order in which they began."""
        return (RecordedSpan.model_validate(each) for each in self._found.values())


def spans_in(events: Iterable[RecordedEvent]) -> list[RecordedSpan]:
    """Return the spans in the events, in the order in which they began."""
    found = Spans()
    for order, event in enumerate(events):
        found.take(event, order)
    return list(found.recorded())
