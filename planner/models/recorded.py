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
    """Replays a recording. With another model inside, it asks that for what is missing and writes it down at once.

    A reply is found by its prompt's words or data (``planbook.planner.models.recording``), not by the model's name:
    what was recorded with one model replays anywhere. A ``strict`` one gives no reply to other words.
    Only replies that ended by themselves are kept. So that they do, a reply is drawn to its end while it is recorded,
    even if the listener wants no more of it; the caller still gets it cut.
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
        """Where the answers come from, in free words."""
        return self._header.made_with

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        """Answer from the recording, else from the model inside. Raises NotRecorded, and what that model raises."""
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
    """Hears a reply to its end on behalf of one who may want no more of it earlier."""

    def __init__(self, on_text: OnText) -> None:
        self._on_text, self._heard, self._told, self._wanted = on_text, "", 0, True

    def __call__(self, text: str) -> bool:
        """Pass on what makes whole pieces; the reply always goes on."""
        self._heard += text
        self._tell(len(self._heard) - PIECE)
        return True

    def as_wanted(self, reply: Reply) -> Reply:
        """Pass on what is left; the reply as far as it was wanted."""
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
