"""The journal: the record of an episode as a sequence of events, some of which form spans.

Each event belongs to a scope, which is a place in the journal such as ``task/17/round/0``. To resume an episode, its
method is run again from the beginning. If an event is already recorded, the new event is compared with it. A recorded
reply of a model is read from the journal, so the model is not called again.

A span is a named part of a method's work, such as a subtask, a goal, a branch or a node of a graph. One event records
its beginning, and another its end. For example, a method contains:

    with scope.span(Subtask(text="open the door", depth=2)) as span:
        ...
        span.end(done=True)

Reports, exports and the terminal show the titles and statuses of spans as a tree. Statistics group the spans by name.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, ClassVar, Final, Generic, Literal, Protocol, Self, TypeVar, get_args

from pydantic import BaseModel, ConfigDict, Field, JsonValue

OldSpanKind = Literal["subtask", "goal", "plan", "branch", "node"]
"""The kinds of events that only planbook 0.1 wrote, since it had no spans."""
EpisodeKind = Literal["task", "recall", "piece", "ask", "act", "rewind", "cell", "outcome", "span"]
RunKind = Literal["learned", "undo", "versions", "invocation", "control"]
INVOCATION: Final = "invocation"
"""The kind of the events that record the beginning, the pauses and the end of an invocation of planbook."""
EventKind = EpisodeKind | RunKind | OldSpanKind
"""The kinds of events: those of an episode, and those of a whole run."""
Body = Mapping[str, JsonValue]
"""The data of an event, as JSON values."""


class RecordedEvent(Protocol):
    """An event that was read from a journal."""

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
        """Return the body of an event, or None if it is not recorded."""

    def put(self, scope: str, kind: EventKind, number: int, body: Body) -> None:
        """Add an event. Once this returns, the event must survive even if the process is killed."""


class MemoryJournal:
    """A journal in memory, for single plans and for tests."""

    def __init__(self) -> None:
        self.events: dict[tuple[str, EventKind, int], Body] = {}

    def get(self, scope: str, kind: EventKind, number: int) -> Body | None:
        """Return the body of an event, or None if it is not recorded."""
        return self.events.get((scope, kind, number))

    def put(self, scope: str, kind: EventKind, number: int, body: Body) -> None:
        """Add an event."""
        self.events[scope, kind, number] = body


SPAN_BEGIN, SPAN_UPDATE, SPAN_END, SPAN_MOMENT = "begin", "update", "end", "moment"
"""The values of ``at`` in an event of a span. A span without duration has a single event, "moment"."""
OLD_SPAN_KINDS: tuple[OldSpanKind, ...] = get_args(OldSpanKind)
"""Kinds of events that planbook 0.1 wrote. Each such event is read as a span without duration, named after the kind."""


class Payload(BaseModel):
    """Base class for the data of a span. ``Method.spans`` lists the payload classes of a method's spans."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    span: ClassVar[str]
    """The name of the spans that have this payload."""
    bulky: ClassVar[frozenset[str]] = frozenset()
    """Names of large fields that the statistics of a run do not need. Computing the statistics drops these fields."""

    @property
    def title(self) -> str:
        """A description of the span in one line."""
        return ""

    @property
    def status(self) -> str:
        """The state in one word: ``done``, ``failed`` or a word that the method chooses. Empty while it is unknown."""
        return ""


class Claim(Payload):
    """The method's opinion: is the whole task done? It is valid until the next action or the next claim."""

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
"""Adds an event of a span to a scope. Returns the number of the event in the scope."""
AnyPayload = TypeVar("AnyPayload", bound=Payload)


class Span(Generic[AnyPayload]):
    """A span that is being recorded. It can be updated after its end, for example when a branch is given up later."""

    def __init__(self, write: WriteSpanEvent, payload: AnyPayload) -> None:
        self._write, self.payload, self._ended = write, payload, False
        data = payload.model_dump(mode="json")
        self._number = write({"at": SPAN_BEGIN, "name": payload.span, **_labels(payload), "data": data})

    def update(self, **changes: object) -> AnyPayload:
        """Change fields of the payload. If any value differs from before, record the change. Return the payload."""
        if changed := self._apply(changes):
            self._write_change(SPAN_UPDATE, changed)
        return self.payload

    def end(self, **changes: object) -> AnyPayload:
        """Change fields of the payload, and record the end of the span. Return the payload.

        If the span has already ended, only record the changes.
        """
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
        """End the span, unless an exception was raised: a stopped episode may still be resumed inside the span."""
        if error is None:
            self.end()

    def _apply(self, changes: Mapping[str, object]) -> dict[str, JsonValue]:
        """Change the payload. Return the fields whose values have changed."""
        old: dict[str, JsonValue] = self.payload.model_dump(mode="json")
        self.payload = type(self.payload).model_validate({**dict(self.payload), **changes})
        new: dict[str, JsonValue] = self.payload.model_dump(mode="json")
        return {name: value for name, value in new.items() if name not in old or old[name] != value}


def instant_event(payload: Payload) -> dict[str, JsonValue]:
    """Return the single event that records a span without duration."""
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
    """Position of the span's beginning in the sequence of the episode's events."""
    end: int | None = Field(default=None, ge=0)
    """Position of the span's end, or null if the span is still open. A span without duration ends at ``order``."""
    scope: str
    name: str
    title: str = ""
    status: str = ""
    data: dict[str, JsonValue] = {}
    """The payload, with fields that the method defines."""


class SpanReader:
    """Assembles the spans of an episode from its events.

    ``omitted_fields`` maps the names of spans to the fields to omit from their payloads.
    """

    def __init__(self, omitted_fields: Mapping[str, frozenset[str]] | None = None) -> None:
        self._omitted_fields = omitted_fields or {}
        self._spans: dict[tuple[str, int], dict[str, Any]] = {}
        self._numbers: dict[str, int] = {}

    def read(self, event: RecordedEvent, order: int) -> None:
        """Read the next event of the episode, of any kind. ``order`` is the position of the event in the episode."""
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
        span["data"] |= self._kept_fields(span["name"], body["data"])
        span |= {"title": body["title"], "status": body["status"]}
        if body["at"] == SPAN_END:
            span["end"] = order

    def _begin(self, key: tuple[str, int], order: int, end: int | None, body: Mapping[str, Any]) -> None:
        labels = {"title": body.get("title", ""), "status": body.get("status", "")}
        data = self._kept_fields(body["name"], body["data"])
        self._spans[key] = {"order": order, "end": end, "scope": key[0], "name": body["name"], **labels, "data": data}

    def _kept_fields(self, name: str, data: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        omitted = self._omitted_fields.get(name, frozenset())
        return {field: value for field, value in data.items() if field not in omitted}

    def spans(self) -> Iterator[RecordedSpan]:
        """Yield the spans in the order in which they began."""
        return map(RecordedSpan.model_validate, self._spans.values())


def spans_in(events: Iterable[RecordedEvent]) -> list[RecordedSpan]:
    """Return the spans in the events, in the order in which the spans began."""
    reader = SpanReader()
    for order, event in enumerate(events):
        reader.read(event, order)
    return list(reader.spans())
