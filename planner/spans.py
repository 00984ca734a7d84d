"""What a method records about its own structure: a subtask, a goal, a branch, a node of a graph.

A method writes ``with scope.span(Subtask(text=..., depth=2)) as span: ...; span.end(done=True)``. Reports, exports and
the terminal draw any tree of spans from their title and status; figures group them by name.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from types import TracebackType
from typing import Any, ClassVar, Generic, Protocol, Self, TypeVar

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from planbook.planner.journal import EventKind

BEGIN, UPDATE, END, MOMENT = "begin", "update", "end", "moment"
"""The four events of a span, as ``at`` has them; a moment begins and ends at once."""
OLD_KINDS: tuple[EventKind, ...] = ("subtask", "goal", "plan", "branch", "node")
"""Kinds of events of planbook 0.1, each of which is the end of a span of that name."""


class Payload(BaseModel):
    """Base of what a span holds; a method registers its own in ``Method.spans``."""

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)

    span: ClassVar[str]
    """The name of the spans that hold it."""
    bulky: ClassVar[frozenset[str]] = frozenset()
    """Fields that figures need not have, so that counting a long run does not keep them."""

    @property
    def title(self) -> str:
        """Say in a line what the span is about."""
        return ""

    @property
    def status(self) -> str:
        """Say in a word how it stands: empty while nothing is known, ``done``, ``failed`` or a word of the method's."""
        return ""


class Claim(Payload):
    """What the method holds of the whole task; it stands until the next action, or the next claim."""

    span = "claim"

    done: bool | None
    """None takes an earlier claim back."""
    by: str
    """Who holds it."""

    @property
    def title(self) -> str:
        """Name who claims it."""
        return self.by

    @property
    def status(self) -> str:
        """Say what is claimed."""
        return status_of(self.done)


def status_of(done: bool | None) -> str:
    """Return the status of what can be done or fail; empty for what came to no end."""
    return {True: "done", False: "failed", None: ""}[done]


Write = Callable[[dict[str, JsonValue]], int]
"""Adds an event of the kind ``span`` to a scope, and returns its number there."""


Held = TypeVar("Held", bound=Payload)


class Span(Generic[Held]):
    """A span that is being recorded. It can be updated after its end: a branch may be given up later."""

    def __init__(self, write: Write, payload: Held) -> None:
        self._write, self.payload, self._ended = write, payload, False
        data = payload.model_dump(mode="json")
        self._number = write({"at": BEGIN, "name": payload.span, **_head(payload), "data": data})

    def update(self, **changes: object) -> Held:
        """Record the fields that have changed, if any has, and return what the span holds now."""
        if changed := self._changed(changes):
            self._tell(UPDATE, changed)
        return self.payload

    def end(self, **changes: object) -> Held:
        """Record the end, with the fields that have changed, and return what the span holds. Later calls update it."""
        if self._ended:
            return self.update(**changes)
        self._ended = True
        self._tell(END, self._changed(changes))
        return self.payload

    def _tell(self, at: str, changed: dict[str, JsonValue]) -> None:
        self._write({"at": at, "of": self._number, **_head(self.payload), "data": changed})

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, _: TracebackType | None) -> None:
        """End it. What stops a run leaves it open: the episode goes on from there later."""
        if error is None:
            self.end()

    def _changed(self, changes: Mapping[str, object]) -> dict[str, JsonValue]:
        before: dict[str, JsonValue] = self.payload.model_dump(mode="json")
        self.payload = type(self.payload).model_validate({**dict(self.payload), **changes})
        now: dict[str, JsonValue] = self.payload.model_dump(mode="json")
        return {name: value for name, value in now.items() if name not in before or before[name] != value}


def moment(payload: Payload) -> dict[str, JsonValue]:
    """Return the event of a span that begins and ends at once."""
    return {"at": MOMENT, "name": payload.span, **_head(payload), "data": payload.model_dump(mode="json")}


def _head(payload: Payload) -> dict[str, JsonValue]:
    return {"title": payload.title, "status": payload.status}


class SpanEvent(Protocol):
    """A row of a journal that may be an event of a span."""

    @property
    def scope(self) -> str:
        """Where it happened."""

    @property
    def kind(self) -> str:
        """What kind it is."""

    @property
    def body(self) -> Any:
        """What happened."""


def is_update(event: SpanEvent) -> bool:
    """Return whether an event only changes what a span holds."""
    return event.kind == "span" and event.body["at"] == UPDATE


class RecordedSpan(BaseModel):
    """A span as a reader has it."""

    model_config = ConfigDict(frozen=True, extra="forbid", use_attribute_docstrings=True)

    order: int = Field(ge=0)
    """The moment at which it began."""
    end: int | None = Field(default=None, ge=0)
    """The moment at which it ended; None for one that is open, ``order`` for one that is a moment."""
    scope: str
    name: str
    title: str = ""
    status: str = ""
    data: dict[str, JsonValue] = {}
    """The method's own payload."""


class Spans:
    """Puts the spans of an episode together from its events. Fields of ``left_out`` are not kept, by name of span."""

    def __init__(self, left_out: Mapping[str, frozenset[str]] | None = None) -> None:
        self._left_out = left_out or {}
        self._found: dict[tuple[str, int], dict[str, Any]] = {}
        self._numbers: dict[str, int] = {}

    def take(self, event: SpanEvent, order: int) -> None:
        """Take one more event, of any kind; ``order`` is its moment."""
        if event.kind in OLD_KINDS:
            self._begin((event.scope, len(self._found)), order, order, {"name": event.kind, "data": event.body})
        if event.kind != "span":
            return
        body = event.body
        number = self._numbers.get(event.scope, 0)
        self._numbers[event.scope] = number + 1
        if body["at"] in (BEGIN, MOMENT):
            end = order if body["at"] == MOMENT else None
            self._begin((event.scope, number), order, end, body)
            return
        found = self._found[event.scope, body["of"]]
        found["data"] |= self._kept(found["name"], body["data"])
        found |= {"title": body["title"], "status": body["status"]}
        if body["at"] == END:
            found["end"] = order

    def _begin(self, key: tuple[str, int], order: int, end: int | None, body: Mapping[str, Any]) -> None:
        said = {"title": body.get("title", ""), "status": body.get("status", "")}
        self._found[key] = {"order": order, "end": end, "scope": key[0], "name": body["name"], **said}
        self._found[key]["data"] = self._kept(body["name"], body["data"])

    def _kept(self, name: str, data: Mapping[str, JsonValue]) -> dict[str, JsonValue]:
        left_out = self._left_out.get(name, frozenset())
        return {field: value for field, value in data.items() if field not in left_out}

    def recorded(self) -> Iterator[RecordedSpan]:
        """Give them in the order in which they began."""
        return (RecordedSpan.model_validate(each) for each in self._found.values())


def spans_in(events: Iterable[SpanEvent]) -> list[RecordedSpan]:
    """Return the spans that events tell of, in the order in which they began."""
    found = Spans()
    for order, event in enumerate(events):
        found.take(event, order)
    return list(found.recorded())
