"""A kit for tests of streaming and resuming: a model that streams its replies in pieces, and journals that are cut."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any

from planbook.envs.toy import Toy
from planbook.planner import (
    Body,
    Ending,
    EventKind,
    Journal,
    MemoryJournal,
    Message,
    Model,
    Reply,
    Sampling,
)
from planbook.planner.models.types import OnText
from planbook.sandbox import Sandbox
from tests.planner import episode_kit
from tests.planner.episode_kit import OneModel

Cut = Callable[[str], Sequence[str]]


def uncut(text: str) -> Sequence[str]:
    """Leave the text in one piece."""
    return [text]


def cut_at(*places: int) -> Cut:
    """Return a function that cuts a text at these positions."""

    def cut(text: str) -> Sequence[str]:
        begins = [0, *(place for place in places if place < len(text))]
        return [text[begin:end] for begin, end in zip(begins, [*begins[1:], len(text)], strict=True)]

    return cut


class PieceModel:
    """A model that streams its replies in order and then repeats the last. It stops when the listener returns False."""

    name = "piecewise"

    def __init__(self, replies: Sequence[str], cut: Cut = uncut) -> None:
        self.replies, self._cut = replies, cut
        self.asked: list[Sequence[Message]] = []
        self.sent_characters = 0
        """Number of characters of the current reply that were sent so far."""

    def model(self, role: str) -> Model:
        """Return this model, which plays every role."""
        return self

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        self.asked.append(messages)
        text = self.replies[min(len(self.asked), len(self.replies)) - 1]
        self.sent_characters = 0
        for piece in self._cut(text):
            self.sent_characters += len(piece)
            if on_text is not None and not on_text(piece):
                return Reply(text=text[: self.sent_characters], finish="cut", seconds=9.0)
        return Reply(text=text, seconds=9.0)

    @property
    def prompts(self) -> list[str]:
        """Return the last message of each request."""
        return [messages[-1].content for messages in self.asked]


def played(
    sandbox: Sandbox, model: Model, journal: Journal, planner: str = "automanual", *, stream: bool = True, **kwargs: Any
) -> Ending:
    """Play an episode of the toy environment. ``kwargs`` are those of an episode, or ``options``."""
    settings = {"environment": Toy(), "actions": 30, **kwargs}
    return episode_kit.played(sandbox, OneModel(model), planner, journal=journal, stream=stream, **settings)[0]


Row = tuple[tuple[str, EventKind, int], Any]


def untimed(journal: MemoryJournal) -> list[Row]:
    """Return the events in order, without the durations and costs of replies."""
    return [(key, without_cost(body)) for key, body in journal.events.items()]


def without_cost(body: Body) -> Mapping[str, Any]:
    reply = body.get("reply")
    return {**body, "reply": {**reply, "seconds": 0.0, "usage": None}} if isinstance(reply, dict) else body


def cut_points(journal: MemoryJournal) -> list[int]:
    """Return numbers of events after which to cut an episode off: one for each pair of kinds that occurs."""
    kinds = [(kind, scope.count("/")) for scope, kind, _ in journal.events]
    return [0, *{pair: number for number, pair in enumerate(pairwise(kinds), 1)}.values()]


def cut_journals(journal: MemoryJournal) -> Iterator[tuple[MemoryJournal, int]]:
    """Yield copies of the journal that are cut off at these points, each with the number of replies that it holds."""
    events = list(journal.events.items())
    for cut in cut_points(journal):
        beginning = MemoryJournal()
        beginning.events = dict(events[:cut])
        yield beginning, sum(kind == "ask" for (_, kind, _), _ in events[:cut])


class KilledJournal(MemoryJournal):
    """Holds the events passed to it, accepts ``capacity`` more, and then fails."""

    def __init__(self, capacity: int, events: Mapping[tuple[str, EventKind, int], Body] | None = None) -> None:
        super().__init__()
        self.events, self._capacity, self._lock = dict(events or {}), capacity, threading.Lock()

    def put(self, scope: str, kind: EventKind, number: int, body: Body) -> None:
        with self._lock:
            if self._capacity == 0:
                raise OSError("killed")
            self._capacity -= 1
            super().put(scope, kind, number, body)
