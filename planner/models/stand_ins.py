"""Stand-ins for language models. Their replies come from a function, a list, or files that people or scripts write."""

import logging
import os
import re
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from planbook.envs import ModuleLoadError, error_location, execute_module
from planbook.planner.errors import ModelError, ModelRefused, UnknownModel
from planbook.planner.models.types import (
    Message,
    Model,
    OnText,
    Reply,
    Sampling,
    current_question,
    estimated_usage,
    pass_on,
    request_key,
)
from planbook.planner.models.waiting import IsStopped, never_stopped, pause

AnswerFunction = Callable[[Sequence[Message], Sampling], str]


class ScriptedModel:
    """A model that answers with a function, or with the texts of a list, one after the other.

    ``answer`` is the list of texts, or a function that takes the messages and the sampling and returns the reply.
    Threads may share a model: each text of the list is returned only once. ``complete`` raises ModelRefused if the
    function fails or the list is used up.

    >>> ScriptedModel(["Yes.", "No."]).complete([], Sampling()).text
    'Yes.'
    """

    def __init__(self, answer: AnswerFunction | Sequence[str], name: str = "scripted") -> None:
        self.name = name
        self._answer: AnswerFunction = answer if callable(answer) else _answers_in_order(answer, name)

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        """Return the next reply. Raises ModelRefused if the function fails or no text is left."""
        start = time.monotonic()
        try:
            reply = self._answer(messages, sampling)
        except ModelError:
            raise  # a script may simulate the failure of a model
        except Exception as error:
            place = error_location(error, skipped_folders=[Path(__file__).parent])[0]
            message = f"the script of {self.name} raised {type(error).__name__}: {error}{place and f' ({place})'}"
            raise ModelRefused(message) from error
        if not isinstance(reply, str):
            raise ModelRefused(f"the script of {self.name} returned a {type(reply).__name__}; it must return a str")
        text, finish = pass_on(reply, on_text)
        usage = estimated_usage(messages, text)
        return Reply(text=text, finish=finish, usage=usage, model=self.name, seconds=time.monotonic() - start)


def _answers_in_order(texts: Sequence[str], name: str) -> AnswerFunction:
    """Return a function that returns the texts one after the other, and raises ModelRefused after the last one."""
    if isinstance(texts, str):
        raise ModelRefused(f"the script of {name} is a single str; give a list of replies or a function")
    remaining, lock = iter(texts), threading.Lock()

    def answer(messages: Sequence[Message], sampling: Sampling) -> str:
        with lock:
            text = next(remaining, None)
        if text is None:
            question = messages[-1].content[:80] if messages else ""
            raise ModelRefused(
                f"the replies scripted for {name} are used up ({len(texts)} in all), but there is another question: "
                f"{question!r}. Add replies"
            )
        return text

    return answer


def load_script(script: str) -> Model:
    """Return a model for ``FILE.py:NAME``, which is a function or a list. Raises UnknownModel if it is neither."""
    file, _, name = script.rpartition(":")
    if not file.endswith(".py") or not name:
        raise UnknownModel(f"scripted:{script} does not name a function in a file: write scripted:FILE.py:NAME")
    try:
        module = execute_module(Path(file))
    except ModuleLoadError as error:
        raise UnknownModel(str(error)) from error
    return ScriptedModel(_checked_script(vars(module).get(name), file, name), name=f"scripted:{script}")


def _checked_script(member: Any, file: str, name: str) -> Any:
    if callable(member) or (isinstance(member, list | tuple) and all(isinstance(text, str) for text in member)):
        return member
    expected = "a function (messages, sampling) -> str, or a list of str"
    if member is None:
        raise UnknownModel(f"{file} defines no {name}; it must be {expected}")
    raise UnknownModel(f"{name} in {file} is a {type(member).__name__}; it must be {expected}")


# Prompts and answers in files.

LOG = logging.getLogger(__name__)
REPLY_MODEL_NAME = "exchange"
"""The name of the model in replies. It does not contain the folder, which may differ between machines."""
_NAME = re.compile(r"(\d+)-[0-9a-f]{8}\.prompt\.md")
STABLE_CHECKS = 2
"""A file counts as complete when this many checks in a row have found it unchanged."""


class ExchangeModel:
    """A model that writes each prompt to a file and waits for the file that answers it.

    The answer to ``0007-1a2b3c4d.prompt.md`` is written to ``0007-1a2b3c4d.answer.md`` in the same folder, by a person
    or a script. A script should write the file under another name and then rename it. An answer is read when it holds
    more than white space and has stopped changing. If several threads wait, their prompts can be answered in any order.

    The folder can be used for several runs. Prompts with the same messages and the same sampling share their files, so
    a resumed run does not repeat answered prompts.
    """

    def __init__(self, folder: str | Path, poll: float = 0.2, stopped: IsStopped = never_stopped) -> None:
        self.name, self.folder = f"{REPLY_MODEL_NAME}:{folder}", Path(folder)
        self._poll, self._stopped, self._lock = poll, stopped, threading.Lock()

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        """Write the prompt and wait for the answer.

        Raises EpisodeStopped if the run is stopped, or ModelRefused if a file cannot be read or written.
        """
        start = time.monotonic()
        try:
            with self._lock:
                prompt = self._prompt_file(messages, sampling)
            reply = self._wait(_answer_path(prompt))
        except OSError as error:
            raise ModelRefused(f"the exchange of prompts in {self.folder} failed: {error}") from error
        text, finish = pass_on(reply, on_text)
        usage = estimated_usage(messages, text)
        return Reply(text=text, finish=finish, usage=usage, model=REPLY_MODEL_NAME, seconds=time.monotonic() - start)

    def _prompt_file(self, messages: Sequence[Message], sampling: Sampling) -> Path:
        """Return the path of the prompt's file. Write it if it does not exist yet."""
        key = request_key(messages, sampling)
        self.folder.mkdir(parents=True, exist_ok=True)
        for path in sorted(self.folder.glob(f"*-{key[:8]}.prompt.md")):
            if key in _first_line(path):
                return path
        numbers = [int(match[1]) for path in self.folder.iterdir() if (match := _NAME.fullmatch(path.name))]
        path = self.folder / f"{max(numbers, default=0) + 1:04}-{key[:8]}.prompt.md"
        _write_atomically(path, render_prompt(messages, sampling, key, _answer_path(path).name))
        return path

    def _wait(self, answer: Path) -> str:
        """Wait until an answer's file is complete, and return its text."""
        if not answer.exists():
            LOG.info("waiting for %s", answer)
        previous, unchanged_checks = (0, 0), 0
        while True:
            current = _file_state(answer)
            unchanged_checks = unchanged_checks + 1 if current == previous else 0
            previous = current
            is_complete = unchanged_checks >= STABLE_CHECKS and current != (0, 0)
            if is_complete and (text := _read_answer(answer)).strip():
                return text
            pause(self._poll, self._stopped)


def _answer_path(prompt: Path) -> Path:
    return prompt.with_name(prompt.name.replace(".prompt.md", ".answer.md"))


def render_prompt(messages: Sequence[Message], sampling: Sampling, key: str, answer: str) -> str:
    """Return the text of a prompt's file. Its first line names the request's key and the file for the answer."""
    parameters = ", ".join(f"{name} {value}" for name, value in sampling.model_dump().items())
    label = current_question().label
    prompt = f"prompt {label}; " if label else ""
    parts = [f"<!-- {prompt}{parameters}; key {key}; write the reply to {answer} -->"]
    for number, message in enumerate(messages, 1):
        parts.append(f"# ===== message {number} of {len(messages)}: {message.role} =====\n\n{message.content}")
    return "\n\n".join(parts) + "\n"


def _write_atomically(path: Path, text: str) -> None:
    """Write a file in one step, so that nobody reads an incomplete text."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}")
    temporary.write_text(text, encoding="utf-8", errors="backslashreplace")
    temporary.replace(path)


def _first_line(path: Path) -> str:
    with path.open(encoding="utf-8", errors="replace") as file:
        return file.readline()


def _file_state(path: Path) -> tuple[int, int]:
    """Return a file's size in bytes and modification time in nanoseconds, or (0, 0) if it is missing or empty."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return 0, 0
    return (status.st_size, status.st_mtime_ns) if status.st_size else (0, 0)


def _read_answer(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise ModelRefused(f"{path} is not UTF-8 text ({error.reason}): save it again as UTF-8") from error
