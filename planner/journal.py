"""The journal: the record of an episode as a sequence of events. Some events form spans.

To resume an episode, its method is run again from the beginning. As long as the journal holds events, each new event is
compared with the recorded one, and replies of models are read from the journal. Events belong to scopes, which are
places such as ``task/17/round/0``.

Spans are a method's record of its own structure, such as its subtasks, goals, branches or nodes of a graph. A method
writes ``with scope.span(Subtask(text=..., depth=2)) as span: ...; span.end(done=True)``. Reports, exports and the
terminal show the spans as a tree, by their titles and statuses. Statistics group them by name.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, ClassVar, Generic, Literal, Protocol, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from planbook.planner.errors import JournalFailed, JournalMismatch

EventKind = Literal[
    "task",
    "recall",
    "heard",
    "ask",
    "act",
    "rewind",
    "cell",
    "outcome",
    "learnt",
    "undo",
    "versions",
    "sitting",
    "control",
    "span",
    "subtask",
    "goal",
    "plan",
    "branch",
    "node",
]
"""The kinds of events. The last five were written by planbook 0.1, which had no spans."""
Body = Mapping[str, JsonValue]
"""The data of an event, as JSON values."""


class RecordedEvent(Protocol):
    """An event that is read from a journal."""

    @property
    def scope(self) -> str:
        """The place in the journal that the event belongs to."""

    @property
    def kind(self) -> str:
        """The kind of the event."""

    @property
    def body(self) -> Any:
        """The content of the event."""


class Journal(Protocol):
    """A record to which events can only be added. No two events have the same scope, kind and number."""

    def get(self, scope: str, kind: EventKind, number: int) -> Body | None:
        """Return the body of a recorded event, or None if it is not recorded."""

    def put(self, scope: str, kind: EventKind, number: int, body: Body) -> None:
        """Add an event. It must not be lost if this process is killed."""


def record(journal: Journal, scope: str, kind: EventKind, number: int, body: Body) -> None:
    """Write an event or, if the journal already holds one at its place, compare the two.

    Raises JournalMismatch if they differ, or JournalFailed if the event cannot be written.
    """
    recorded = journal.get(scope, kind, number)
    if recorded is None:
        write(journal, scope, kind, number, body)
    elif _compared_part(recorded) != _compared_part(body):
        raise JournalMismatch(scope, kind, number, dict(recorded), dict(body))


def _compared_part(body: Body) -> Body:
    """Return the event without the text of a cell's feedback, since its wording may change between versions."""
    feedback = body.get("feedback")
    return {**body, "feedback": {**feedback, "text": ""}} if isinstance(feedback, dict) else body


def write(journal: Journal, scope: str, kind: EventKind, number: int, body: Body) -> None:
    """Add an event. For any error of the journal, raises JournalFailed, which plan code cannot catch."""
    try:
        journal.put(scope, kind, number, body)
    except Exception as error:
        raise JournalFailed(str(error)) from error


class MemoryJournal:
    """A journal in memory, for single plans and for tests."""

    def __init__(self) -> None:
        self.events: dict[tuple[str, EventKind, int], Body] = {}

    def get(self, scope: str, kind: EventKind, number: int) -> Body | None:
        """Return the body of a recorded event, or None if it is not recorded."""
        return self.events.get((scope, kind, number))

    def put(self, scope: str, kind: EventKind, number: int, body: Body) -> None:
        """Add an event."""
        self.events[scope, kind, number] = body


SPAN_BEGIN, SPAN_UPDATE, SPAN_END, SPAN_MOMENT = "begin", "update", "end", "moment"
"""The values of ``at`` in an event of a span. A "moment" is the only event of a span that has no duration."""
OLD_SPAN_KINDS: tuple[EventKind, ...] = ("subtask", "goal", "plan", "branch", "node")
"""Kinds of events that planbook 0.1 wrote. Each is read as a span of that name without duration."""


class Payload(BaseModel):
    """Base class for the data in a span. A method lists its payload classes in ``Method.spans``."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    span: ClassVar[str]
    """The name of the spans that have this payload."""
    bulky: ClassVar[frozenset[str]] = frozenset()
    """Names of fields that statistics do not need. They are dropped when the statistics of a run are computed."""

    @property
    def title(self) -> str:
        """A description of the span in one line."""
        return ""

    @property
    def status(self) -> str:
        """The state in one word: ``done``, ``failed``, a word of the method's own, or empty while it is unknown."""
        return ""


class Claim(Payload):
    """The method's opinion on whether the whole task is done. It is valid until the next action or the next claim."""

    span = "claim"

    done: bool | None
    """None withdraws an earlier claim."""
    by: str
    """The author of the claim."""

    @property
    def title(self) -> str:
        """The author of the claim."""
        return self.by

    @property
    def status(self) -> str:
        """``done`` or ``failed``, or empty if the claim was withdrawn."""
        return status_of(self.done)


def status_of(done: bool | None) -> str:
    """Return the status of a span that is done or not: ``done`` or ``failed``, or empty for None."""
    return {True: "done", False: "failed", None: ""}[done]


WriteSpanEvent = Callable[[dict[str, JsonValue]], int]
"""Adds an event of a span to a scope. Returns its number in the scope."""


AnyPayload = TypeVar("AnyPayload", bound=Payload)


class Span(Generic[AnyPayload]):
    """A span that is being recorded. It can be updated after its end, for example when a branch is given up later."""

    def __init__(self, write: WriteSpanEvent, payload: AnyPayload) -> None:
        self._write, self.payload, self._ended = write, payload, False
        data = payload.model_dump(mode="json")
        self._number = write({"at": SPAN_BEGIN, "name": payload.span, **_labels(payload), "data": data})

    def update(self, **changes: object) -> AnyPayload:
        """Change fields of the payload, and record those that differ, if any. Return the payload."""
        if changed := self._apply(changes):
            self._write_change(SPAN_UPDATE, changed)
        return self.payload

    def end(self, **changes: object) -> AnyPayload:
        """Change fields of the payload, and record the end of the span. Return the payload. Later calls only update."""
        if self._ended:
            return self.update(**changes)
        self._ended = True
        self._write_change(SPAN_END, self._apply(changes))
        return self.payload

    def _write_change(self, at: str, changed: dict[str, JsonValue]) -> None:
        self._write({"at": at, "of": self._number, **_labels(self.payload), "data": changed})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        """End the span, unless an exception was raised in it: a stopped episode is resumed inside the span."""
        if error is None:
            self.end()

    def _apply(self, changes: Mapping[str, object]) -> dict[str, JsonValue]:
        """Change the payload. Return its fields that now have a different value."""
        before: dict[str, JsonValue] = self.payload.model_dump(mode="json")
        self.payload = type(self.payload).model_validate({**dict(self.payload), **changes})
        now: dict[str, JsonValue] = self.payload.model_dump(mode="json")
        return {name: value for name, value in now.items() if name not in before or before[name] != value}


def instant_event(payload: Payload) -> dict[str, JsonValue]:
    """Return the only event of a span that has no duration."""
    return {"at": SPAN_MOMENT, "name": payload.span, **_labels(payload), "data": payload.model_dump(mode="json")}


def _labels(payload: Payload) -> dict[str, JsonValue]:
    return {"title": payload.title, "status": payload.status}


def is_update(event: RecordedEvent) -> bool:
    """Return True if an event only changes the payload of a span."""
    return event.kind == "span" and event.body["at"] == SPAN_UPDATE


class RecordedSpan(BaseModel):
    """A span read back from the journal."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    order: int = Field(ge=0)
    """Its beginning, as a position in the sequence of the episode's events."""
    end: int | None = Field(default=None, ge=0)
    """Position of its end, or null if it is still open. It equals ``order`` if the span has no duration."""
    scope: str
    name: str
    title: str = ""
    status: str = ""
    data: dict[str, JsonValue] = {}
    """The method's own payload."""


class Spans:
    """Assembles the spans of an episode from its events. ``left_out`` maps names of spans to fields to leave out."""

    def __init__(self, left_out: Mapping[str, frozenset[str]] | None = None) -> None:
        self._left_out = left_out or {}
        self._spans: dict[tuple[str, int], dict[str, Any]] = {}
        self._numbers: dict[str, int] = {}

    def take(self, event: RecordedEvent, order: int) -> None:
        """Read the next event, which may be of any kind. ``order`` is its position in the episode."""
        if event.kind in OLD_SPAN_KINDS:
            self._begin((event.scope, len(self._spans)), order, order, {"name": event.kind, "data": event.body})
        if event.kind != "span":
            return
        body = event.body
        number = self._numbers.get(event.scope, 0)
        self._numbers[event.scope] = number + 1
        if body["at"] in (SPAN_BEGIN, SPAN_MOMENT):
            end = order if body["at"] == SPAN_MOMENT else None
            self._begin((event.scope, number), order, end, body)
            return
        span = self._spans[event.scope, body["of"]]
        span["data"] |= self._reduced(span["name"], body["data"])
        span |= {"title": body["title"], "status": body["status"]}
        if body["at"] == SPAN_END:
            span["end"] = order

    def _begin(self, key: tuple[str, int], order: int, end: int | None, body: Mapping[str, Any]) -> None:
        head = {"title": body.get("title", ""), "status": body.get("status", "")}
        data = self._reduced(body["name"], body["data"])
        self._spans[key] = {"order": order, "end": end, "scope": key[0], "name": body["name"], **head, "data": data}

    def _reduced(self, name: str, data: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        left_out = self._left_out.get(name, frozenset())
        return {field: value for field, value in data.items() if field not in left_out}

    def recorded(self) -> Iterator[RecordedSpan]:
        """Yield the spans in the order in which they began."""
        return map(RecordedSpan.model_validate, self._spans.values())


def spans_in(events: Iterable[RecordedEvent]) -> list[RecordedSpan]:
    """Return the spans in the events, in the order in which they began."""
    spans = Spans()
    for order, event in enumerate(events):
        spans.take(event, order)
    return list(spans.recorded())
