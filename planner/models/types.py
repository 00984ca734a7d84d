"""Messages, sampling, replies and the identity of a request: the protocol between planbook and a language model."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, NamedTuple, Protocol

from pydantic import Field

from planbook.planner.rendered import Rendered, Text, digest, digest_of
from planbook.planner.types import Record

Speaker = Literal["system", "user", "assistant"]
"""The author of a message, in the words of OpenAI's API."""
OnText = Callable[[str], bool]
"""Takes each new piece of a reply. Returns False to stop the reply there."""


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
        """The digest of the content's data; of the content itself if its data are unknown."""
        return self.content.data_digest if isinstance(self.content, Rendered) else digest(self.content)


class Sampling(Record):
    """Sampling parameters of a reply. A parameter that is None is not sent, for servers that refuse it."""

    temperature: float | None = Field(default=0.0, allow_inf_nan=False)
    """0 asks for the most likely reply each time."""
    max_tokens: int | None = Field(default=4_000, ge=1)
    """Maximum tokens of one reply."""
    context: int = Field(default=16_000, ge=500)
    """Maximum tokens of prompt and reply together."""
    seed: int | None = 0
    """Seed of the server's sampling, if the server supports one."""
    stop: tuple[str, ...] = ()
    """Stop sequences: strings at which a reply ends."""
    sample: int = 0
    """Index of the sample of the same request, from 0. Above temperature 0, samples differ."""


class Usage(Record):
    """The server's token counts, or ``estimated`` ones. ``prompt`` includes ``cached`` tokens."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    estimated: bool = False

    @property
    def total(self) -> int:
        """Number of prompt and completion tokens."""
        return self.prompt + self.completion


Finish = Literal["stop", "length", "cut", "refused"]
"""Why a reply ended: it was complete, it reached ``max_tokens``, ``on_text`` stopped it, or it was refused or empty."""


class Reply(Record):
    """A model's reply. Only ``text`` is required.

    >>> Reply(text="Yes.", usage=Usage(prompt=20, completion=2)).usage.total
    22
    """

    text: str
    """The reply without the model's reasoning."""
    finish: Finish = "stop"
    """The reason why the reply ended; "length" if it was cut off at ``max_tokens``."""
    usage: Usage = Usage()
    """The tokens, for budgets and costs. Without it, a run counts none for this reply."""
    model: str = ""
    """The server's own name for the model."""
    seconds: float = 0.0
    """The duration of the call in seconds."""
    replayed: bool = False
    """True if it comes from a recording and cost nothing."""
    reasoning: str = Field(default="", exclude_if=lambda reasoning: not reasoning)
    """The model's reasoning before its answer. It is never read as a plan, nor sent back."""
    reworded: bool = Field(default=False, exclude_if=lambda reworded: not reworded)
    """True if it was recorded for a prompt with the same data in other words."""


class Model(Protocol):
    """Any object that answers a conversation: it needs a ``name`` and the method ``complete``, and no base class.

    Several threads may call it at once. ``planbook.run(model=...)`` takes an instance.
    """

    name: str
    """The full name, such as ``openai:gpt-4o-mini``."""

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        """Return the reply to a conversation, whose last message is the question.

        ``on_text`` is called with each piece of the reply as it arrives, or once with the whole reply. If it returns
        False, the reply may end there, with ``finish="cut"``. Raises ModelError if there is no answer: the run then
        stops, and can be resumed. Any other exception makes the episode BROKEN.
        """


class PromptData(Record):
    """Identifies a prompt by its data, whatever its wording."""

    number: int
    """Number of earlier prompts from the same template in the scope."""
    data: str
    """Digest of the data."""


class Asked(NamedTuple):
    """The question that a thread is asking: role and template, its place in the journal, and the data of its prompt."""

    label: str = ""
    place: str = ""
    data: PromptData | None = None


_NO_QUESTION = Asked()
_asked: ContextVar[Asked] = ContextVar("asked", default=_NO_QUESTION)


@contextmanager
def asking(label: str = "", place: str = "", data: PromptData | None = None) -> Iterator[None]:
    """Describe the question asked inside the ``with`` block, for recordings, exchanges and budgets."""
    token = _asked.set(Asked(label, place, data))
    try:
        yield
    finally:
        _asked.reset(token)


def label() -> str:
    """Return the role and the template of the question that this thread is asking; empty if it asks none."""
    return _asked.get().label


def journal_place() -> str:
    """Return the place in the journal of the question that this thread is asking: its scope, and its number there."""
    return _asked.get().place


def prompt_data() -> PromptData | None:
    """Return the identity of the prompt of the question that this thread is asking; None if it asks none."""
    return _asked.get().data


def data_digest(messages: Sequence[Message]) -> str:
    """Return the digest of the data in a conversation, regardless of its wording."""
    return digest_of([(message.role, message.data_digest) for message in messages])


def request_key(messages: Sequence[Message], sampling: Sampling) -> str:
    """Return a key that is equal for equal messages and sampling, regardless of the model."""
    request = {"messages": [message.model_dump() for message in messages], "sampling": sampling.model_dump()}
    return digest(json.dumps(request, sort_keys=True))
