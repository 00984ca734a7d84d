"""Answers from a recording, and recording what is missing."""

import threading
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

from planbook.planner.errors import NotRecorded
from planbook.planner.models.missing import explain
from planbook.planner.models.recording import Entries, Entry, Header, append, read
from planbook.planner.models.requests import request_key
from planbook.planner.models.telling import PIECE, tell
from planbook.planner.models.tokens import usage_of_cut
from planbook.planner.models.types import Message, Model, OnText, Reply, Sampling

MISSING = "Record what is missing with --model recorded:{0}+MODEL, such as recorded:{0}+openai:NAME"


class RecordedModel:
    """Replays a recording. With an inner model, it asks that for what is missing and records it at once.

    A reply is found by its prompt's words or data (``planbook.planner.models.recording``), not by the model's name, so
    a recording of one model replays anywhere. A ``strict`` recording gives no reply to a reworded prompt. Only complete
    replies are recorded: while recording, a reply is received to its end even if the listener wants no more of it; the
    caller still gets it cut.
    """

    def __init__(
        self, path: str | Path, inner: Model | None = None, made_with: str = "", *, strict: bool = False
    ) -> None:
        self.path, self._inner, self.strict = Path(path), inner, strict
        self.name = f"recorded:{path}" + (f"+{inner.name}" if inner else "")
        self._header, entries = (Header(), []) if inner and not self.path.exists() else read(self.path)
        if inner and self._header == Header():
            self._header = Header(made_with=made_with or inner.name)
        self._entries = Entries(entries)
        self._lock = threading.Lock()
        self._asking: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    @property
    def made_with(self) -> str:
        """Origin of the answers, in free words."""
        return self._header.made_with

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        """Return the recorded reply, or ask the inner model. Raises NotRecorded, and the inner model's errors."""
        key = request_key(messages, sampling)
        with self._lock:
            asking = self._asking[key]
        with asking:  # the same request from two threads is paid for once
            found = self._entries.find(messages, sampling, strict=self.strict)
            if found is None and self._inner is not None:
                return self._record(self._inner, messages, sampling, on_text)
        if found is None:
            told = explain(self.path, messages, sampling, self._entries, strict=self.strict)
            raise NotRecorded(f"{told}. {MISSING.format(self.path)}")
        entry, reworded = found
        text, finish = tell(entry.text, on_text)
        usage = usage_of_cut(entry.usage, entry.text, text)
        return Reply(text=text, finish=finish, usage=usage, model=entry.model, replayed=True, reworded=reworded)

    def _record(self, inner: Model, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None) -> Reply:
        listener = Listener(on_text) if on_text else None
        reply = inner.complete(messages, sampling, listener)
        if reply.finish == "stop":
            entry = Entry.of(messages, sampling, reply)
            with self._lock:
                append(self.path, self._header, entry)
                self._entries.add(entry)
        return listener.as_wanted(reply) if listener else reply


class Listener:
    """Receives a reply to its end for a listener that may stop earlier."""

    def __init__(self, on_text: OnText) -> None:
        self._on_text, self._heard, self._told, self._wanted = on_text, "", 0, True

    def __call__(self, text: str) -> bool:
        """Pass on whole characters; the reply always continues."""
        self._heard += text
        self._tell(len(self._heard) - PIECE)
        return True

    def as_wanted(self, reply: Reply) -> Reply:
        """Pass on the rest, and return the reply as far as it was wanted."""
        if self._heard != reply.text:
            return reply  # it began anew after a broken stream, and otherwise
        self._tell(len(self._heard) - 1)
        if self._told == len(self._heard):
            return reply
        return reply.model_copy(update={"text": reply.text[: self._told], "finish": "cut"})

    def _tell(self, last_start: int) -> None:
        while self._wanted and self._told <= last_start:
            piece = self._heard[self._told : self._told + PIECE]
            self._told += len(piece)
            self._wanted = self._on_text(piece)
