"""A model that answers with a function or a list of replies."""

import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from planbook.envs import ModuleLoadError, execute_module
from planbook.planner.errors import ModelError, ModelRefused, UnknownModel
from planbook.planner.models.types import Message, Model, OnText, Reply, Sampling, estimated_usage, pass_on

Answer = Callable[[Sequence[Message], Sampling], str]


class ScriptedModel:
    """A model that answers with a function, or with the texts of a list, one after the other.

    ``answer`` is the list of texts, or a function that takes the messages and the sampling and returns the reply.
    Threads may share a model: each text of the list is returned only once. ``complete`` raises ModelRefused if the
    function fails or the list is used up.

    >>> ScriptedModel(["Yes.", "No."]).complete([], Sampling()).text
    'Yes.'
    """

    def __init__(self, answer: Answer | Sequence[str], name: str = "scripted") -> None:
        self.name = name
        self._answer: Answer = answer if callable(answer) else _in_order(answer, name)

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        """Return the next reply. Raises ModelRefused if the function fails or no text is left."""
        start = time.monotonic()
        try:
            reply = self._answer(messages, sampling)
        except ModelError:
            raise  # a script may simulate the failure of a model
        except Exception as error:
            raise ModelRefused(f"the script of {self.name} raised {type(error).__name__}: {error}") from error
        if not isinstance(reply, str):
            raise ModelRefused(f"the script of {self.name} returned a {type(reply).__name__}; it must return a str")
        text, finish = pass_on(reply, on_text)
        usage = estimated_usage(messages, text)
        return Reply(text=text, finish=finish, usage=usage, model=self.name, seconds=time.monotonic() - start)


def _in_order(texts: Sequence[str], name: str) -> Answer:
    """Return a function that returns the texts one after the other, and raises ModelRefused after the last one."""
    if isinstance(texts, str):
        raise ModelRefused(f"the script of {name} is one str; give a list of replies or a function")
    remaining, lock = iter(texts), threading.Lock()

    def answer(messages: Sequence[Message], sampling: Sampling) -> str:
        with lock:
            text = next(remaining, None)
        if text is None:
            question = messages[-1].content[:80] if messages else ""
            raise ModelRefused(
                f"the replies scripted for {name} are used up ({len(texts)} in all), and there is another question: "
                f"{question!r}. Add replies"
            )
        return text

    return answer


def load_script(rest: str) -> Model:
    """Return the model of the script ``FILE.py:NAME``, a function or a list. Raises UnknownModel if it is neither."""
    file, _, name = rest.rpartition(":")
    if not file.endswith(".py") or not name:
        raise UnknownModel(f"scripted:{rest} does not name a function in a file: write scripted:FILE.py:NAME")
    try:
        module = execute_module(Path(file))
    except ModuleLoadError as error:
        raise UnknownModel(str(error)) from error
    return ScriptedModel(_checked_script(vars(module).get(name), file, name), name=f"scripted:{rest}")


def _checked_script(member: Any, file: str, name: str) -> Any:
    if callable(member) or (isinstance(member, list | tuple) and all(isinstance(text, str) for text in member)):
        return member
    expected = "a function (messages, sampling) -> str, or a list of str"
    if member is None:
        raise UnknownModel(f"{file} defines no {name}; it must be {expected}")
    raise UnknownModel(f"{name} in {file} is a {type(member).__name__}; it must be {expected}")
