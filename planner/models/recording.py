"""Recordings: a file with a header line, then one line of JSON for each reply; and how a reply is found.

A reply belongs to its exact prompt, and to the data of the prompt: role and template, number among the questions of
that template in its scope, and digest of the template's variables. So the wording of prompts may change. Recordings of
planbook 0.1.0 know only exact prompts.
"""

import fcntl
import json
import os
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO, NamedTuple, TypeVar

from pydantic import Field, ValidationError

from planbook.planner.errors import UnknownModel
from planbook.planner.models.requests import Given, given, label, request_key
from planbook.planner.models.types import Finish, Message, Reply, Sampling, Speaker, Usage
from planbook.planner.rendered import digest
from planbook.planner.types import Record

Kind = TypeVar("Kind", bound=Record)
FORMAT = 1
HEAD = 80
"""Number of characters kept of each message, for people."""


class Header(Record):
    """The first line. ``made_with`` says where the answers come from, ``command`` which command replays them.

    The command leaves out the model, which is the recording, and the folder of the run.
    """

    recording: int = FORMAT
    made_with: str = ""
    command: str = ""


class Asked(Record):
    """One message of a recorded prompt: enough to identify it, not the whole text."""

    role: Speaker
    sha256: str
    length: int
    head: str

    @classmethod
    def of(cls, message: Message) -> "Asked":
        """Return the record of a message."""
        text = message.content
        return cls(role=message.role, sha256=digest(text), length=len(text), head=text[:HEAD])


class Entry(Record):
    """One request and its reply. ``label`` names role and template, ``model`` is what answered."""

    key: str
    label: str = ""
    given: Given | None = Field(default=None, exclude_if=lambda given: given is None)
    model: str
    sampling: Sampling
    messages: tuple[Asked, ...]
    finish: Finish = "stop"
    usage: Usage = Field(default=Usage())
    text: str

    @classmethod
    def of(cls, messages: Sequence[Message], sampling: Sampling, reply: Reply) -> "Entry":
        """Return the record of a request and its reply."""
        return cls(
            key=request_key(messages, sampling),
            label=label(),
            given=given(),
            model=reply.model,
            sampling=sampling,
            messages=tuple(map(Asked.of, messages)),
            finish=reply.finish,
            usage=reply.usage,
            text=reply.text,
        )


class Found(NamedTuple):
    """A recorded reply; ``reworded`` if its prompt had the same data in other words."""

    entry: Entry
    reworded: bool


class Entries:
    """The replies of a recording. If a prompt has two replies, the first counts."""

    def __init__(self, entries: Iterable[Entry] = ()) -> None:
        self._by_key: dict[str, Entry] = {}
        self._by_data: dict[tuple[object, ...], Entry] = {}
        for entry in entries:
            self.add(entry)

    def __iter__(self) -> Iterator[Entry]:
        return iter(self._by_key.values())

    def add(self, entry: Entry) -> None:
        """Add a reply."""
        self._by_key.setdefault(entry.key, entry)
        if entry.given is not None:
            drawn = _drawn(entry.label, entry.sampling)
            self._by_data.setdefault((*drawn, entry.given.data, entry.given.number), entry)
            self._by_data.setdefault((*drawn, entry.given.data), entry)

    def find(self, messages: Sequence[Message], sampling: Sampling, *, strict: bool = False) -> Found | None:
        """Return the reply to what this thread is asking: to these very words, else, unless ``strict``, to these data.

        The same data at another place of the scope count where none were recorded at this one.
        """
        if entry := self._by_key.get(request_key(messages, sampling)):
            return Found(entry, reworded=False)
        asked = given()
        if strict or asked is None:
            return None
        drawn = _drawn(label(), sampling)
        entry = self._by_data.get((*drawn, asked.data, asked.number)) or self._by_data.get((*drawn, asked.data))
        return Found(entry, reworded=True) if entry else None


def _drawn(label: str, sampling: Sampling) -> tuple[object, ...]:
    """Return the prompt's name, and what of the sampling makes another reply."""
    return label, sampling.temperature, sampling.seed, sampling.sample


def read(path: Path) -> tuple[Header, list[Entry]]:
    """Return the whole recording, without a last line that was cut off. Raises UnknownModel for any other file."""
    try:
        lines = _whole_lines(path.read_bytes()).split(b"\n")[:-1]
    except OSError as error:
        raise UnknownModel(f"the recording {path} cannot be read: {error.strerror}") from error
    if not lines:
        return Header(), []
    header = _parsed(path, 1, lines[0], Header)
    if header.recording != FORMAT:
        raise UnknownModel(f"{path} is a recording of format {header.recording}; this version reads format {FORMAT}")
    return header, [_parsed(path, number, line, Entry) for number, line in enumerate(lines[1:], 2) if line.strip()]


def append(path: Path, header: Header, entry: Entry) -> None:
    """Add an entry that survives the death of this process; a line that an earlier kill cut off goes."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a+b") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        size = _repair(file)
        file.write((b"" if size else _line(header)) + _line(entry))
        file.flush()
        os.fsync(file.fileno())


def _repair(file: IO[bytes]) -> int:
    """Make the file end with a whole line, and return its length."""
    size = file.seek(0, os.SEEK_END)
    if size == 0:
        return 0
    file.seek(size - 1)
    if file.read(1) == b"\n":
        return size
    file.seek(0)
    whole = _whole_lines(file.read())
    file.truncate(min(size, len(whole)))
    file.write(whole[size:])
    return len(whole)


def _whole_lines(content: bytes) -> bytes:
    """Return the content without a half-written last line; a line that lacks only its end gets it."""
    tail = content[content.rfind(b"\n") + 1 :]
    try:
        json.loads(tail)
    except ValueError:
        return content[: len(content) - len(tail)]
    return content + b"\n"


def _line(record: Record) -> bytes:
    """Return one line of readable JSON in UTF-8; only half surrogates are escaped."""
    text = json.dumps(record.model_dump(mode="python"), ensure_ascii=False, separators=(",", ":"))
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _parsed(path: Path, number: int, line: bytes, kind: type[Kind]) -> Kind:
    try:
        return kind.model_validate(json.loads(line))
    except ValueError as error:  # of json, and of pydantic
        what = "header of a recording" if kind is Header else "recorded reply"
        raise UnknownModel(f"{path}:{number} is no {what}: {_reason(error)}") from error


def _reason(error: ValueError) -> str:
    if not isinstance(error, ValidationError):
        return str(error)
    first = error.errors()[0]
    return ": ".join([*map(str, first["loc"]), first["msg"]])
