"""The protocol between planbook and language models: messages, sampling parameters and replies.

A context variable describes the question that a thread is asking at the moment, for recordings and budgets.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, NamedTuple, Protocol

from pydantic import Field

from planbook.planner.rendered import RenderedText, Text, digest, digest_of
from planbook.planner.types import Record

Speaker = Literal["system", "user", "assistant"]
"""The author of a message, as in OpenAI's API."""
OnText = Callable[[str], bool]
"""Takes the next piece of a reply. Returns False to stop the reply."""


class Message(Record):
    """One message of a conversation.

    >>> Message(role="user", content="Which fruits start with p?").role
    'user'
    """

    role: Speaker
    """The author."""
    content: Text
    """The text."""

    @property
    def data_digest(self) -> str:
        """The digest of the data that the content was made from or, if they are unknown, of the content itself."""
        return self.content.data_digest if isinstance(self.content, RenderedText) else digest(self.content)


class Sampling(Record):
    """The sampling parameters of a reply. If one is None, it is not sent, because some servers refuse it."""

    temperature: float | None = Field(default=0.0, allow_inf_nan=False)
    """0 asks for the most likely reply."""
    max_tokens: int | None = Field(default=4_000, ge=1)
    """Maximum tokens of one reply."""
    context: int = Field(default=16_000, ge=500)
    """Maximum tokens of prompt and reply together."""
    seed: int | None = 0
    """Seed of the server's sampling, if the server supports one."""
    stop: tuple[str, ...] = ()
    """Stop sequences: strings at which a reply ends."""
    sample: int = 0
    """Index, from 0, of this reply among several to the same request. At temperatures above 0, they differ."""


class Usage(Record):
    """Numbers of tokens, counted by the server or ``estimated``. ``prompt`` includes the ``cached`` tokens."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    estimated: bool = False

    @property
    def total(self) -> int:
        """Number of prompt and completion tokens."""
        return self.prompt + self.completion


Finish = Literal["stop", "length", "cut", "refused"]
"""Why a reply ended: it was complete, reached ``max_tokens``, was stopped by ``on_text``, or was refused or empty."""


class Reply(Record):
    """A model's reply. Only ``text`` is required.

    >>> Reply(text="Yes.", usage=Usage(prompt=20, completion=2)).usage.total
    22
    """

    text: str
    """The text of the reply, without the model's reasoning."""
    finish: Finish = "stop"
    """The reason why the reply ended. It is "length" if the reply was cut off at ``max_tokens``."""
    usage: Usage = Usage()
    """The tokens, for budgets and costs. By default, the reply counts as having none."""
    model: str = ""
    """The server's own name for the model."""
    seconds: float = 0.0
    """The duration of the call in seconds."""
    replayed: bool = False
    """True if the reply comes from a recording and costs nothing."""
    reasoning: str = Field(default="", exclude_if=lambda reasoning: not reasoning)
    """The model's reasoning before its answer. It is never read as a plan, nor sent back."""
    reworded: bool = Field(default=False, exclude_if=lambda reworded: not reworded)
    """True if the reply was recorded for a prompt with the same data in different words."""


class Model(Protocol):
    """Any object with a ``name`` and the method ``complete``. No base class is needed.

    Several threads may call it at the same time. ``planbook.run(model=...)`` accepts an instance.
    """

    name: str
    """The full name, such as ``openai:gpt-4o-mini``."""

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        """Return the reply to a conversation. Its last message is the question.

        Call ``on_text`` with each piece of the reply as it arrives, or once with the whole reply. If it returns False,
        the reply may end there, with ``finish="cut"``. Raise ModelError if there is no answer: the run then stops, and
        can be resumed. Any other exception makes the episode BROKEN.
        """


class PromptData(Record):
    """Identifies a prompt by its data, regardless of its wording."""

    number: int
    """Number of earlier prompts from the same template in the same scope (part of the episode) of the journal."""
    data: str
    """The digest of the data."""


class CurrentQuestion(NamedTuple):
    """The question that a thread is asking at the moment.

    ``label`` names its role and template. ``place`` is its place in the journal, and ``data`` identifies its prompt.
    """

    label: str = ""
    place: str = ""
    data: PromptData | None = None


_NO_QUESTION = CurrentQuestion()
_current_question: ContextVar[CurrentQuestion] = ContextVar("current_question", default=_NO_QUESTION)


@contextmanager
def asking(label: str = "", place: str = "", data: PromptData | None = None) -> Iterator[None]:
    """Describe the question that this thread asks inside the ``with`` block. See ``CurrentQuestion``."""
    token = _current_question.set(CurrentQuestion(label, place, data))
    try:
        yield
    finally:
        _current_question.reset(token)


def label() -> str:
    """Return the role and the template of the question that this thread is asking, or "" if there is none."""
    return _current_question.get().label


def journal_place() -> str:
    """Return where the journal records the question that this thread is asking: the scope, and the number in it."""
    return _current_question.get().place


def prompt_data() -> PromptData | None:
    """Return the data that identify the prompt of this thread's current question, or None if there is none."""
    return _current_question.get().data


def data_digest(messages: Sequence[Message]) -> str:
    """Return a digest of the data in a conversation, regardless of its wording."""
    return digest_of([(message.role, message.data_digest) for message in messages])


def request_key(messages: Sequence[Message], sampling: Sampling) -> str:
    """Return a key for a request. It depends on the messages and the sampling, but not on the model."""
    request = {"messages": [message.model_dump() for message in messages], "sampling": sampling.model_dump()}
    return digest(json.dumps(request, sort_keys=True))
