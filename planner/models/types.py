"""Messages, sampling, replies and the identity of a request: the protocol between planbook and a language model."""

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Literal, Protocol

from pydantic import Field

from planbook.planner.rendered import Rendered, Text, digest, digest_of
from planbook.planner.types import Record

Speaker = Literal["system", "user", "assistant"]
"""The author of a message, in the words of OpenAI's API."""
OnText = Callable[[str], bool]
"""Called with each new piece of a reply; returning False stops the reply there."""


class Message(Record):
    """One message of a conversation.

    >>> Message(role="user", content="Which fruits start with p?").role
    'user'
    """

    role: Speaker
    """Who wrote it."""
    content: Text
    """The text of it, a string."""

    @property
    def data(self) -> str:
        """The digest of the data that the content was made from; of the content itself if unknown."""
        return self.content.data if isinstance(self.content, Rendered) else digest(self.content)


class Sampling(Record):
    """Sampling parameters of a reply; None is not sent at all, for servers that refuse the parameter."""

    temperature: float | None = 0.0
    """0 asks for the likeliest reply each time."""
    max_tokens: int | None = Field(default=4_000, ge=1)
    """Maximum tokens of one reply."""
    context: int = Field(default=16_000, ge=500)
    """Maximum tokens of prompt and reply together."""
    seed: int | None = 0
    """Seed of the server's sampling, where it has one."""
    stop: tuple[str, ...] = ()
    """Texts at which a reply ends."""
    sample: int = 0
    """Index of the sample of the same request, from 0: above temperature 0, two samples are two replies."""


class Usage(Record):
    """Tokens as the server counts them; ``estimated`` if it does not. ``cached`` tokens are among the prompt's."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    estimated: bool = False

    @property
    def total(self) -> int:
        """Number of prompt and completion tokens."""
        return self.prompt + self.completion


Finish = Literal["stop", "length", "cut", "refused"]
"""Why a reply ended: by itself, at max_tokens, because ``on_text`` stopped it, or by the server's content filter."""


class Reply(Record):
    """A model's reply. Only ``text`` must be given.

    >>> Reply(text="Yes.", usage=Usage(prompt=20, completion=2)).usage.total
    22
    """

    text: str
    """The reply without the model's reasoning."""
    finish: Finish = "stop"
    """Why the reply ended; "length" for one that was cut off at ``max_tokens``."""
    usage: Usage = Usage()
    """The tokens, for budgets and costs. Without it, a run counts none for this reply."""
    model: str = ""
    """The server's own name for the model."""
    seconds: float = 0.0
    """The time that the reply took."""
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
    """Full name by which it was asked for, such as ``openai:gpt-4o-mini``."""

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        """Return the reply to a conversation, of which the last message is the question.

        ``on_text`` is called with each piece of the reply as it arrives, or once with the whole of it; where it returns
        False, the reply may end there, with ``finish="cut"``. Raises ModelError if there is no answer: the run then
        stops, and can be resumed. Any other exception makes the episode BROKEN.
        """


class PromptData(Record):
    """The data of a prompt: the digest, and the number of earlier prompts of the same template in the scope."""

    number: int
    data: str


_label: ContextVar[str] = ContextVar("label", default="")
_place: ContextVar[str] = ContextVar("place", default="")
_given: ContextVar[PromptData | None] = ContextVar("given", default=None)


@contextmanager
def labelled(name: str) -> Iterator[None]:
    """Name what is asked inside, such as the template of the prompt; recordings and exchanges write it down."""
    token = _label.set(name)
    try:
        yield
    finally:
        _label.reset(token)


def label() -> str:
    """Return the name of the question that this thread is asking."""
    return _label.get()


@contextmanager
def placed(journal_place: str, given: PromptData) -> Iterator[None]:
    """Set the journal place and the prompt data of the questions asked inside."""
    tokens = _place.set(journal_place), _given.set(given)
    try:
        yield
    finally:
        _place.reset(tokens[0])
        _given.reset(tokens[1])


def journal_place() -> str:
    """Return where in the journal what this thread is asking will stand: its scope, and its number there."""
    return _place.get()


def given() -> PromptData | None:
    """Return the data of the prompt that this thread is asking; None outside of an episode."""
    return _given.get()


def data_of_prompt(messages: Sequence[Message]) -> str:
    """Return the digest of the data in a conversation, whatever its wording."""
    return digest_of([(message.role, message.data) for message in messages])


def request_key(messages: Sequence[Message], sampling: Sampling) -> str:
    """Return a key that is equal for equal messages and sampling, whichever model is asked."""
    request = {"messages": [message.model_dump() for message in messages], "sampling": sampling.model_dump()}
    return digest(json.dumps(request, sort_keys=True))
