"""Answers from people and scripts: through files, from a function, or from a list."""

import logging
import os
import re
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from planbook.planner.errors import ModelError, ModelRefused
from planbook.planner.models.tokens import estimated_usage
from planbook.planner.models.types import Finish, Message, OnText, Reply, Sampling, label, request_key
from planbook.planner.models.waiting import Stopped, never_stopped, pause

PIECE = 16
"""Characters passed on at a time."""


def pass_on(text: str, on_text: OnText | None) -> tuple[str, Finish]:
    """Pass a text on in pieces. Return the part passed on, and "cut" if the listener stopped before the end."""
    if on_text is None:
        return text, "stop"
    for start in range(0, len(text), PIECE):
        told = start + PIECE
        if not on_text(text[start:told]) and told < len(text):
            return text[:told], "cut"
    return text, "stop"


Answer = Callable[[Sequence[Message], Sampling], str]


class ScriptedModel:
    """Answers by a function, or from a list in order; with several threads, each text goes to one of them.

    ``answer`` is a function of messages and sampling that returns the reply, or the list of replies. Raises
    ModelRefused from ``complete`` if the function fails or the list is used up.

    >>> ScriptedModel(["Yes.", "No."]).complete([], Sampling()).text
    'Yes.'
    """

    def __init__(self, answer: Answer | Sequence[str], name: str = "scripted") -> None:
        self.name = name
        self._answer: Answer = answer if callable(answer) else _in_order(answer, name)

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        """Return the next reply. Raises ModelRefused if the function fails or the texts are used up."""
        start = time.monotonic()
        try:
            whole = self._answer(messages, sampling)
        except ModelError:
            raise  # a script may say how a model fails
        except Exception as error:
            raise ModelRefused(f"the script of {self.name} raised {type(error).__name__}: {error}") from error
        if not isinstance(whole, str):
            raise ModelRefused(f"the script of {self.name} returned a {type(whole).__name__}; it must return a str")
        text, finish = pass_on(whole, on_text)
        usage = estimated_usage(messages, text)
        return Reply(text=text, finish=finish, usage=usage, model=self.name, seconds=time.monotonic() - start)


def _in_order(texts: Sequence[str], name: str) -> Answer:
    """Return a function that gives each text once. It raises ModelRefused after the last."""
    if isinstance(texts, str):
        raise ModelRefused(f"the script of {name} is one str; give a list of replies or a function")
    left, lock = iter(texts), threading.Lock()

    def answer(messages: Sequence[Message], sampling: Sampling) -> str:
        with lock:
            text = next(left, None)
        if text is None:
            asked = messages[-1].content[:80] if messages else ""
            raise ModelRefused(
                f"all {len(texts)} replies scripted for {name} are used up, and there is another question: {asked!r}"
            )
        return text

    return answer


LOG = logging.getLogger(__name__)
KIND = "exchange"
"""Replies give this as their model: the folder belongs to one machine."""
_NAME = re.compile(r"(\d+)-[0-9a-f]{8}\.prompt\.md")
SAME_LOOKS = 2
"""So many looks in a row must see the same file before it counts as written."""
README = """\
# Prompts that wait for an answer

Each `NNNN-KEY.prompt.md` here is a question to a language model: one whole conversation, a heading for each message.
Whoever answers, a person or a script, writes the reply to its last message into `NNNN-KEY.answer.md`, same name before
the first dot: the whole text of that file is the reply. Save it in one go, or under another name and rename it.
Prompts without an answer file are still waited for. An answer stays and is used again when the same prompt returns.
"""


class ExchangeModel:
    """Writes each prompt to a file and waits for the file that answers it.

    ``0007-1a2b3c4d.prompt.md`` is answered by ``0007-1a2b3c4d.answer.md`` beside it. A person opens the first and
    saves the second; a script does the same for every prompt file without an answer file, best by writing under another
    name and renaming. An answer is taken once it holds more than white space and has stopped changing. Numbers go on
    where an earlier run ended, and a prompt that was asked before (same messages, same sampling) finds its old files
    again, so a resumed run waits for nothing twice. Every waiting thread has a prompt of its own: answer in any order.
    """

    def __init__(self, folder: str | Path, poll: float = 0.2, stopped: Stopped = never_stopped) -> None:
        self.name, self.folder = f"{KIND}:{folder}", Path(folder)
        self._poll, self._stopped, self._lock = poll, stopped, threading.Lock()

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        """Ask and wait. Raises EpisodeStopped when the run is stopped, and ModelRefused where files fail."""
        start = time.monotonic()
        try:
            with self._lock:
                prompt = self._ask(messages, sampling)
            whole = self._wait(prompt.with_name(prompt.name.replace(".prompt.md", ".answer.md")))
        except OSError as error:
            raise ModelRefused(f"exchange of prompts in {self.folder} failed: {error}") from error
        text, finish = pass_on(whole, on_text)
        usage = estimated_usage(messages, text)
        return Reply(text=text, finish=finish, usage=usage, model=KIND, seconds=time.monotonic() - start)

    def _ask(self, messages: Sequence[Message], sampling: Sampling) -> Path:
        """The prompt's file, written if it is not there yet."""
        key = request_key(messages, sampling)
        self.folder.mkdir(parents=True, exist_ok=True)
        if not (self.folder / "README.md").exists():
            _replace(self.folder / "README.md", README)
        for path in sorted(self.folder.glob(f"*-{key[:8]}.prompt.md")):
            if key in _first_line(path):
                return path
        numbers = [int(found[1]) for path in self.folder.iterdir() if (found := _NAME.fullmatch(path.name))]
        path = self.folder / f"{max(numbers, default=0) + 1:04}-{key[:8]}.prompt.md"
        _replace(path, render(messages, sampling, key))
        return path

    def _wait(self, answer: Path) -> str:
        """The text of an answer as soon as it is there and stands still."""
        if not answer.exists():
            LOG.info("waiting for %s", answer)
        seen, looks = (0, 0), 0
        while True:
            now = _look(answer)
            looks = looks + 1 if now == seen else 0
            seen = now
            if looks >= SAME_LOOKS and now != (0, 0) and (text := _text(answer)).strip():
                return text
            pause(self._poll, self._stopped)


def render(messages: Sequence[Message], sampling: Sampling, key: str) -> str:
    """A conversation for a reader; the first line holds the whole key."""
    drawn = ", ".join(f"{name} {value}" for name, value in sampling.model_dump().items())
    named = f"prompt {label()}; " if label() else ""
    parts = [f"<!-- {named}{drawn}; key {key} -->"]
    for number, message in enumerate(messages, 1):
        parts.append(f"# ===== message {number} of {len(messages)}: {message.role} =====\n\n{message.content}")
    return "\n\n".join(parts) + "\n"


def _replace(path: Path, text: str) -> None:
    """Write a file so that it is never half there."""
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    beside.write_text(text, encoding="utf-8", errors="backslashreplace")
    beside.replace(path)


def _first_line(path: Path) -> str:
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.readline()


def _look(path: Path) -> tuple[int, int]:
    """Size and time of change; twice 0 for a file that is not there."""
    try:
        found = path.stat()
    except FileNotFoundError:
        return 0, 0
    return (found.st_size, found.st_mtime_ns) if found.st_size else (0, 0)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ModelRefused(f"{path} is not UTF-8 text ({error.reason}): save it again as UTF-8, then resume") from error
