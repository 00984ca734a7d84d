"""The protocol between planbook and language models: messages, sampling parameters, replies, tokens and prices.

A context variable describes the question that a thread is asking at the moment, for recordings and budgets. Until a
server has counted the tokens of a prompt, they are estimated.
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

from pydantic import Field, ValidationError

from planbook.envs import validation_faults
from planbook.planner.errors import PlannerError
from planbook.planner.types import Record, RenderedText, Text, digest, digest_of
from planbook.sandbox import cached_up_to

Speaker = Literal["system", "user", "assistant"]
"""The author of a message: one of the roles of OpenAI's API."""
OnText = Callable[[str], bool]
"""A function that takes the next piece of a reply. It returns False to stop the reply."""


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
        """The digest of the data from which the content was made. If that is unknown, the digest of the content."""
        return self.content.data_digest if isinstance(self.content, RenderedText) else digest(self.content)


class Sampling(Record):
    """The sampling parameters of a reply. A parameter that is None is not sent, because some servers refuse it."""

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
    """Index, from 0, of this reply among several to the same request. They can differ unless the temperature is 0."""


class Usage(Record):
    """The tokens of a call: of its prompt, and of the reply (``completion``).

    ``cached`` counts the prompt tokens that were cached. ``estimated`` is True if the server did not count the tokens.
    """

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    estimated: bool = False

    @property
    def total(self) -> int:
        """Number of prompt and completion tokens."""
        return self.prompt + self.completion


Finish = Literal["stop", "length", "cut", "refused"]
"""The reason why a reply ended.

It was complete ("stop"), reached ``max_tokens`` ("length"), was stopped by ``on_text`` ("cut"), or was refused by the
server or the model ("refused"). An empty reply is also "refused".
"""


PIECE_LENGTH = 16
"""``pass_on`` passes on a text in pieces of this many characters."""


def pass_on(text: str, on_text: OnText | None) -> tuple[str, Finish]:
    """Pass a text to ``on_text`` in pieces. Return the part that was passed on and the reason why it ended.

    The reason is "cut" if ``on_text`` stopped the reply before its end, otherwise "stop".
    """
    if on_text is None:
        return text, "stop"
    for start in range(0, len(text), PIECE_LENGTH):
        end = start + PIECE_LENGTH
        if not on_text(text[start:end]) and end < len(text):
            return text[:end], "cut"
    return text, "stop"


class Reply(Record):
    """A model's reply. Only ``text`` is required.

    >>> Reply(text="Yes.", usage=Usage(prompt=20, completion=2)).usage.total
    22
    """

    text: str
    """The text of the reply, without the model's reasoning."""
    finish: Finish = "stop"
    """Why the reply ended. It is "length" if the reply was cut off at ``max_tokens``."""
    usage: Usage = Usage()
    """The tokens of the call, for budgets and costs. By default, the call counts as using no tokens."""
    model: str = ""
    """The server's own name for the model."""
    seconds: float = 0.0
    """The duration of the call in seconds."""
    replayed: bool = False
    """True if the reply comes from a recording and costs nothing."""
    reasoning: str = Field(default="", exclude_if=lambda reasoning: not reasoning)
    """The model's reasoning before its answer. It is never read as a plan, and never sent back to the model."""
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

        Call ``on_text`` with each piece of the reply as it arrives, or once with the whole reply. When it returns
        False, the reply may end after this piece, with ``finish="cut"``. Raise ModelError if there is no answer: the
        run then stops, and can be resumed. Any other exception makes the episode BROKEN.
        """


class PromptData(Record):
    """Identifies a prompt by its data, regardless of its wording."""

    number: int
    """Number of earlier prompts from the same template in the same scope (place) of the journal."""
    data: str
    """The digest of the data."""


class CurrentQuestion(NamedTuple):
    """The question that a thread is asking at the moment.

    ``label`` names its role and template. ``place`` is its place in the journal, as ``SCOPE/NUMBER``. ``data``
    identifies its prompt.
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


def current_question() -> CurrentQuestion:
    """Return the question that this thread is asking. If there is none, its fields are empty."""
    return _current_question.get()


def data_digest(messages: Sequence[Message]) -> str:
    """Return a digest of the data in a conversation, regardless of its wording."""
    return digest_of([(message.role, message.data_digest) for message in messages])


def request_key(messages: Sequence[Message], sampling: Sampling) -> str:
    """Return a key for a request. It depends on the messages and the sampling, but not on the model."""
    request = {"messages": [message.model_dump() for message in messages], "sampling": sampling.model_dump()}
    return digest(json.dumps(request, sort_keys=True))


# Estimates of tokens.

_PIECE = re.compile(r"[A-Za-z]+| ?[0-9]|\n[ \t]*|[ \t]{2,}|[!-/:-@\[-`{-~]|[^\x00-\x7f]")
_LETTERS_PER_TOKEN = 7
_BYTES_PER_TOKEN = 2
MESSAGE_TOKENS = 4
"""Number of tokens that a server adds to each message for its role and its delimiters."""
_CACHE_SIZE = 16 << 20
"""Token counts of messages are cached until the messages have this many characters in total."""
MARGIN = 1.35
"""A prompt has at most this many times its estimated tokens. The estimate for German was up to 26 % too low."""


@cached_up_to(_CACHE_SIZE)  # the messages of a conversation are counted again for each reply
def estimate_tokens(text: str) -> int:
    """Return an estimate of the number of tokens of a text. It is usually too high.

    It was compared with five tokenizers: cl100k, o200k, and those of DeepSeek, Claude 2 and SmolLM2. The estimate was
    9 to 41 % too high for Python code, 0 to 27 % for English, and 21 to 45 % for HTML and JSON. For observations with
    many numbered objects, it was between 4 % too low and 22 % too high. For other languages, it depends on the
    tokenizer: between 26 % too low and 8 % too high for German, between 0.81 and 2.4 times the true number for Chinese,
    and between 1.1 and 2.7 times for Russian.
    """
    return int(sum(map(_piece_tokens, _PIECE.findall(text))) + 0.5)


def _piece_tokens(piece: str) -> float:
    if not piece.isascii():
        return len(piece.encode("utf-8", "surrogatepass")) / _BYTES_PER_TOKEN
    if piece[0].isalpha():
        return -(-len(piece) // _LETTERS_PER_TOKEN)
    return len(piece) if piece[-1].isdigit() else 1  # nearly every tokenizer makes two tokens of " 7"


def estimate_prompt(messages: Iterable[Message]) -> int:
    """Return the estimated number of tokens of a conversation, including those that the server adds to messages."""
    return sum(estimate_tokens(message.content) + MESSAGE_TOKENS for message in messages)


def max_usage(messages: Iterable[Message], sampling: Sampling) -> Usage:
    """Return an upper limit on the tokens of a call: the prompt's estimate times ``MARGIN``, and the longest reply."""
    prompt = int(estimate_prompt(messages) * MARGIN)
    longest = sampling.max_tokens or max(sampling.context - prompt, 0)
    return Usage(prompt=prompt, completion=longest, estimated=True)


def partial_usage(usage: Usage, whole: str, text: str) -> Usage:
    """Return the usage of a reply that was stopped after ``text``. ``usage`` is the usage of the ``whole`` reply."""
    if text == whole:
        return usage
    completion = round(usage.completion * len(text) / len(whole))
    return usage.model_copy(update={"completion": completion, "estimated": True})


def estimated_usage(messages: Sequence[Message], text: str) -> Usage:
    """Return the estimated usage for a reply whose tokens no server has counted."""
    return Usage(prompt=estimate_prompt(messages), completion=estimate_tokens(text), estimated=True)


# Prices.

SHIPPED_PRICES = Path(__file__).with_name("prices.json")
"""The path of the price table that comes with planbook."""
MILLION = 1_000_000
_VERSION_SUFFIX = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8}|\d{4}|latest)$")
_KIND_PREFIX = re.compile(r"^(openai[:/]|(scripted|exchange):(.*/)?)")


class BadPrices(PlannerError):
    """A price table that cannot be read."""


class Price(Record):
    """Prices in USD per million tokens. If ``cached`` is None, cached prompt tokens cost as much as others."""

    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)
    cached: float | None = Field(default=None, ge=0, allow_inf_nan=False)


class Prices(Record):
    """A table of prices: the prices that were published on the day ``as_of``, or a user's own prices."""

    about: str = ""
    as_of: str = ""
    models: Mapping[str, Price]

    @classmethod
    def load(cls, path: str | Path | None = None) -> "Prices":
        """Read a table, by default the one that comes with planbook. Raises BadPrices if it cannot be read."""
        path = Path(path) if path else SHIPPED_PRICES
        try:
            return cls.model_validate_json(path.read_bytes())
        except OSError as error:
            raise BadPrices(f"the price table {path} cannot be read: {error.strerror}") from error
        except ValidationError as error:
            raise BadPrices(
                f'{path}: {validation_faults(error)[0]}; a price table is {{"as_of": DAY, "models": '
                '{NAME: {"input": USD, "cached": USD, "output": USD}}}, in USD per million tokens'
            ) from error

    def cost(self, model: str, usage: Usage) -> float | None:
        """Return the cost in USD. None means that the price of the model is unknown, not that the call is free."""
        price = self.price(model)
        if price is None:
            return None
        cached_price = price.input if price.cached is None else price.cached
        uncached = usage.prompt - usage.cached
        return (uncached * price.input + usage.cached * cached_price + usage.completion * price.output) / MILLION

    def price(self, model: str) -> Price | None:
        """Return the price of a model, or None if it is unknown.

        A model whose name ends in a date or "latest" has the price of the model without this ending. Any other ending
        names another model: gpt-4o-audio does not have the price of gpt-4o.
        """
        if model in self.models:
            return self.models[model]
        name = _KIND_PREFIX.sub("", model)
        prices = {_KIND_PREFIX.sub("", known): price for known, price in self.models.items()}
        return prices.get(name) or prices.get(_VERSION_SUFFIX.sub("", name))
