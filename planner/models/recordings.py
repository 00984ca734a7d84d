"""Recordings: files of replies, and the model that replays them.

A recording has a header line, and then a line of JSON for each reply. A reply is found by its exact prompt. If the
recording does not have this prompt, the reply is found by its role, its template, and a digest of the conversation's
data, such as the variables of its templates. So recordings remain usable when the wording of prompts changes.

A number distinguishes replies that were recorded for the same data: how often the template had been used before in the
same scope (place) of the journal. A reply with the same number as the prompt is preferred. The recordings of planbook
0.1.0 have neither data nor numbers.
"""

import fcntl
import json
import os
import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple, TypeVar

from pydantic import Field, JsonValue, ValidationError

from planbook.envs import validation_faults
from planbook.planner.errors import ModelRefused, NotRecorded, UnknownModel
from planbook.planner.models.types import (
    Finish,
    Message,
    Model,
    OnText,
    PromptData,
    Reply,
    Sampling,
    Speaker,
    Usage,
    current_question,
    partial_usage,
    pass_on,
    request_key,
)
from planbook.planner.types import Record, digest

Kind = TypeVar("Kind", bound=Record)
FORMAT = 1
HEAD_LENGTH = 80
"""Number of characters of each message that a recording holds, so that people can recognise the message."""


class Header(Record):
    """The first line of a recording. ``made_with`` says where the replies come from, for example the model's name.

    ``command`` is the command that replays the recording, without the options for the model and the run's folder.
    """

    recording: int = FORMAT
    made_with: str = ""
    command: str = ""


class RecordedMessage(Record):
    """The record of one message of a prompt: its role, and the digest, length and beginning (``head``) of its text."""

    role: Speaker
    sha256: str
    length: int
    head: str

    @classmethod
    def of(cls, message: Message) -> "RecordedMessage":
        """Return the record of a message."""
        text = message.content
        return cls(role=message.role, sha256=digest(text), length=len(text), head=text[:HEAD_LENGTH])


class RecordedReply(Record):
    """One request and its reply. ``label`` names the role and the template. ``model`` is the model that answered.

    ``key`` identifies the exact request, and ``given`` identifies the data of its prompt.
    """

    key: str
    label: str = ""
    given: PromptData | None = Field(default=None, exclude_if=lambda given: given is None)
    model: str
    sampling: Sampling
    messages: tuple[RecordedMessage, ...]
    finish: Finish = "stop"
    usage: Usage = Usage()
    text: str

    @classmethod
    def of(cls, messages: Sequence[Message], sampling: Sampling, reply: Reply) -> "RecordedReply":
        """Return the record of a request and its reply."""
        question = current_question()
        return cls(
            key=request_key(messages, sampling),
            label=question.label,
            given=question.data,
            model=reply.model,
            sampling=sampling,
            messages=tuple(map(RecordedMessage.of, messages)),
            finish=reply.finish,
            usage=reply.usage,
            text=reply.text,
        )


class FoundReply(NamedTuple):
    """A recorded reply. ``reworded`` is True if it was recorded for the same data in different words."""

    entry: RecordedReply
    reworded: bool


class RecordedReplies:
    """The replies of a recording. If it has several replies to the same request, only the first of them is used."""

    def __init__(self, entries: Iterable[RecordedReply] = ()) -> None:
        self._by_key: dict[str, RecordedReply] = {}
        self._by_data: dict[tuple[object, ...], RecordedReply] = {}
        for entry in entries:
            self.add(entry)

    def add(self, entry: RecordedReply) -> None:
        """Add a reply."""
        self._by_key.setdefault(entry.key, entry)
        if entry.given is not None:
            prefix = _data_key_prefix(entry.label, entry.sampling)
            self._by_data.setdefault((*prefix, entry.given.data, entry.given.number), entry)
            self._by_data.setdefault((*prefix, entry.given.data), entry)

    def find(self, messages: Sequence[Message], sampling: Sampling, *, strict: bool = False) -> FoundReply | None:
        """Return the reply to these messages or, unless ``strict``, to other messages with the same data.

        Of several replies to that data, the one with the same number is preferred (see the module's docstring).
        """
        if entry := self._by_key.get(request_key(messages, sampling)):
            return FoundReply(entry, reworded=False)
        label, _, prompt = current_question()
        if strict or prompt is None:
            return None
        prefix = _data_key_prefix(label, sampling)
        entry = self._by_data.get((*prefix, prompt.data, prompt.number)) or self._by_data.get((*prefix, prompt.data))
        return FoundReply(entry, reworded=True) if entry else None

    def difference(self, messages: Sequence[Message], sampling: Sampling) -> str:
        """Return a description of how a request without a reply differs from the recorded requests."""
        label, _, prompt = current_question()
        sent, data = tuple(map(RecordedMessage.of, messages)), prompt and prompt.data
        same_label = [entry for entry in self._by_key.values() if entry.label == label]
        same_prompt = [
            entry for entry in same_label if entry.messages == sent or (entry.given and entry.given.data == data)
        ]
        if same_prompt:
            differences = (_differing(entry.sampling, sampling) for entry in same_prompt)
            recorded, requested = min(differences, key=lambda pair: len(pair[0]))
            seeds = "; --seed and --repeats change the seed" if "seed" in requested else ""
            return f"it was recorded with {_format_parameters(recorded)}, not {_format_parameters(requested)}{seeds}"
        if same_label or not label:
            return "its data, such as the task or earlier replies, differ from those recorded"
        return "it has none to this role and template"


def _data_key_prefix(label: str, sampling: Sampling) -> tuple[object, ...]:
    """Return the beginning of a key for ``_by_data``: the role and template, and some of the sampling parameters."""
    return label, sampling.temperature, sampling.seed, sampling.sample


def _differing(recorded: Sampling, requested: Sampling) -> tuple[dict[str, JsonValue], dict[str, JsonValue]]:
    """Return the sampling parameters that differ, as they were recorded and as they are requested."""
    old, new = recorded.model_dump(mode="json"), requested.model_dump(mode="json")
    names = [name for name in old if old[name] != new[name]]
    return {name: old[name] for name in names}, {name: new[name] for name in names}


def _format_parameters(parameters: Mapping[str, JsonValue]) -> str:
    return ", ".join(f"{name}={json.dumps(value)}" for name, value in parameters.items())


def read_recording(path: Path) -> tuple[Header, list[RecordedReply]]:
    """Return the header and the replies of a recording. An incomplete last line (without a newline) is ignored.

    Raises UnknownModel if the file cannot be read or has another format.
    """
    try:
        lines = path.read_bytes().split(b"\n")[:-1]
    except OSError as error:
        raise UnknownModel(f"the recording {path} cannot be read: {error.strerror}") from error
    if not lines:
        return Header(), []
    header = _parse(path, 1, lines[0], Header)
    if header.recording != FORMAT:
        raise UnknownModel(f"{path} is a recording of format {header.recording}; this version reads format {FORMAT}")
    return header, [
        _parse(path, number, line, RecordedReply) for number, line in enumerate(lines[1:], 2) if line.strip()
    ]


def append_reply(path: Path, header: Header, entry: RecordedReply) -> None:
    """Add a reply to a recording, and wait until it is on disk. Remove an incomplete last line left by a crash.

    Raises ModelRefused if the file cannot be written.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            size = _cut_last_line(file)
            file.write((b"" if size else _line(header)) + _line(entry))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        raise ModelRefused(f"the recording {path} cannot be written: {error.strerror}") from error


def _cut_last_line(file: IO[bytes]) -> int:
    """Remove the last line if it has no newline. Return the length of the file."""
    size = file.seek(0, os.SEEK_END)
    if size:
        file.seek(size - 1)
        if file.read(1) != b"\n":
            file.seek(0)
            size = file.read().rfind(b"\n") + 1
            file.truncate(size)
    return size


def _line(record: Record) -> bytes:
    """Return a record as a line of JSON in UTF-8. Only lone surrogates are escaped, so that people can read it."""
    text = json.dumps(record.model_dump(mode="python"), ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _parse(path: Path, number: int, line: bytes, kind: type[Kind]) -> Kind:
    try:
        return kind.model_validate(json.loads(line))
    except ValueError as error:  # from json or pydantic
        reason = validation_faults(error)[0] if isinstance(error, ValidationError) else error
        expected = "the header of a recording" if kind is Header else "a recorded reply"
        raise UnknownModel(f"{path}:{number} is not {expected}: {reason}") from error


MISSING_ADVICE = (
    "To record what is missing, copy {0} to a FILE of your own, and use --model recorded:FILE+MODEL, such as "
    "recorded:FILE+openai:NAME"
)


class RecordedModel:
    """A model that replays a recording. If it has an inner model, it asks that model for missing replies.

    The replies are found by the text or the data of their prompts (see the module's docstring), whichever model gave
    them. If ``strict`` is True, they are found only by the text. A reply of the inner model is recorded before
    ``on_text`` gets any part of it.
    """

    def __init__(self, path: str | Path, inner: Model | None = None, *, strict: bool = False) -> None:
        self.path, self._inner, self.strict = Path(path), inner, strict
        self.name = f"recorded:{path}" + (f"+{inner.name}" if inner else "")
        self._header, entries = (Header(), []) if inner and not self.path.exists() else read_recording(self.path)
        if inner and self._header == Header():
            self._header = Header(made_with=inner.name)
        self._entries = RecordedReplies(entries)
        self._lock = threading.Lock()
        self._request_locks: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        """Return the recorded reply or, if there is none, the inner model's reply.

        Raises NotRecorded if the reply is not recorded and there is no inner model, ModelRefused if the file cannot be
        written, or the inner model's error.
        """
        key = request_key(messages, sampling)
        with self._lock:
            request_lock = self._request_locks[key]
        with request_lock:  # if two threads make the same request, it is paid for only once
            found = self._entries.find(messages, sampling, strict=self.strict)
            if found is None and self._inner is not None:
                return self._record(self._inner, messages, sampling, on_text)
        if found is None:
            problem = explain_missing(self.path, messages, sampling, self._entries, strict=self.strict)
            command = self._header.command
            hint = command and f"It has the replies for this command: `planbook {command}`. "
            raise NotRecorded(f"{problem}. {hint}{MISSING_ADVICE.format(self.path)}")
        entry, reworded = found
        reply = Reply(text=entry.text, finish=entry.finish, usage=entry.usage, model=entry.model)
        return replayed_reply(reply, on_text, reworded=reworded)

    def _record(self, inner: Model, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None) -> Reply:
        reply = inner.complete(messages, sampling)
        entry = RecordedReply.of(messages, sampling, reply)
        with self._lock:
            append_reply(self.path, self._header, entry)
            self._entries.add(entry)
        text, finish = pass_on(reply.text, on_text)
        return reply.model_copy(update={"text": text, "finish": "cut"}) if finish == "cut" else reply


def replayed_reply(reply: Reply, on_text: OnText | None, *, reworded: bool = False) -> Reply:
    """Return a recorded reply as the reply to a new call that takes no time and costs nothing."""
    text, finish = pass_on(reply.text, on_text)
    return reply.model_copy(
        update={
            "text": text,
            "usage": partial_usage(reply.usage, reply.text, text),
            "finish": finish if finish == "cut" else reply.finish,
            "seconds": 0.0,
            "replayed": True,
            "reworded": reworded,
        }
    )


def explain_missing(
    path: Path, messages: Sequence[Message], sampling: Sampling, entries: RecordedReplies, *, strict: bool = False
) -> str:
    """Explain that a recording has no reply to a prompt. Name the role, the template, and the differences."""
    label = current_question().label
    problem = f"{path} has no answer to this prompt{f' ({label})' if label else ''}"
    if strict and entries.find(messages, sampling):
        return f"{problem} except one to the same data in different words, which --strict-recordings refuses"
    return f"{problem}: {entries.difference(messages, sampling)}"
