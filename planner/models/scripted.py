"""A public test double: replies from a function of the messages, or from a list."""

import threading
import time
from collections.abc import Callable, Sequence

from planbook.planner.errors import ModelError, ModelRefused
from planbook.planner.models.telling import tell
from planbook.planner.models.tokens import estimated_usage
from planbook.planner.models.types import Message, OnText, Reply, Sampling

Answer = Callable[[Sequence[Message], Sampling], str]


class ScriptedModel:
    """Answers by a function, or from a list in order; with several threads, each text goes to one of them."""

    def __init__(self, answer: Answer | Sequence[str], name: str = "scripted") -> None:
        self.name = name
        self._answer: Answer = answer if callable(answer) else Texts(answer, name)

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
        text, finish = tell(whole, on_text)
        usage = estimated_usage(messages, text)
        return Reply(text=text, finish=finish, usage=usage, model=self.name, seconds=time.monotonic() - start)


class Texts:
    """A list of replies, each given once."""

    def __init__(self, texts: Sequence[str], name: str) -> None:
        if isinstance(texts, str):
            raise ModelRefused(f"the script of {name} is one str; give a list of replies or a function")
        self._texts, self._name, self._given, self._lock = tuple(texts), name, 0, threading.Lock()

    def __call__(self, messages: Sequence[Message], sampling: Sampling) -> str:
        """Return the next text. Raises ModelRefused after the last."""
        with self._lock:
            if self._given == len(self._texts):
                asked = messages[-1].content[:80] if messages else ""
                raise ModelRefused(
                    f"all {len(self._texts)} replies scripted for {self._name} are used up, and it is asked again: "
                    f"{asked!r}"
                )
            self._given += 1
            return self._texts[self._given - 1]
