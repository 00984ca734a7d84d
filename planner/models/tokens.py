"""Estimate the number of tokens of a text before a server has counted them, and compute the price of a call."""

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path

from pydantic import Field, ValidationError

from planbook.envs import validation_faults
from planbook.planner.errors import PlannerError
from planbook.planner.models.types import Message, Sampling, Usage
from planbook.planner.types import Record
from planbook.sandbox import cached_up_to

_PIECE = re.compile(r"[A-Za-z]+| ?[0-9]|\n[ \t]*|[ \t]{2,}|[!-/:-@\[-`{-~]|[^\x00-\x7f]")
_LETTERS_PER_TOKEN = 7
_BYTES_PER_TOKEN = 2
MESSAGE_TOKENS = 4
"""Number of tokens that a server adds to each message: its role and two marks."""
_CACHE_SIZE = 16 << 20
"""Maximum total number of characters of the messages whose token counts are cached."""
MARGIN = 1.35
"""An upper limit on a prompt's tokens is the estimate times this. The estimate for German was up to 26 % too low."""


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
    """Return the estimated number of tokens of a conversation, including what the server adds to each message."""
    return sum(estimate_tokens(message.content) + MESSAGE_TOKENS for message in messages)


def max_usage(messages: Iterable[Message], sampling: Sampling) -> Usage:
    """Return an upper limit on the tokens of a call: the prompt's estimate times ``MARGIN``, and the longest reply."""
    prompt = int(estimate_prompt(messages) * MARGIN)
    longest = sampling.max_tokens or max(sampling.context - prompt, 0)
    return Usage(prompt=prompt, completion=longest, estimated=True)


def partial_usage(usage: Usage, whole: str, text: str) -> Usage:
    """Return the usage for the part ``text`` of a reply, given the ``usage`` and the text of the ``whole`` reply."""
    if text == whole:
        return usage
    completion = round(usage.completion * len(text) / len(whole))
    return usage.model_copy(update={"completion": completion, "estimated": True})


def estimated_usage(messages: Sequence[Message], text: str) -> Usage:
    """Return the estimated usage for a reply whose tokens no server has counted."""
    return Usage(prompt=estimate_prompt(messages), completion=estimate_tokens(text), estimated=True)


SHIPPED_PRICES = Path(__file__).with_name("prices.json")
"""The path of the price table that comes with planbook."""
MILLION = 1_000_000
_VERSION = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8}|\d{4}|latest)$")
_VENDOR = re.compile(r"^openai[:/]")


class BadPrices(PlannerError):
    """A price table that cannot be read."""


class Price(Record):
    """Prices in USD for a million tokens. If ``cached`` is None, cached prompt tokens cost as much as others."""

    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)
    cached: float | None = Field(default=None, ge=0, allow_inf_nan=False)


class Prices(Record):
    """A table of prices: either those that were published on a certain day, or a user's own."""

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
            raise BadPrices(f"the prices {path} cannot be read: {error.strerror}") from error
        except ValidationError as error:
            raise BadPrices(
                f'{path}: {validation_faults(error)[0]}; a price table is {{"as_of": DAY, "models": '
                '{NAME: {"input": USD, "cached": USD, "output": USD}}}, in USD per million tokens'
            ) from error

    def cost(self, model: str, usage: Usage) -> float | None:
        """Return the cost in USD, or None if the price is unknown, which is not the same as free."""
        price = self.price(model)
        if price is None:
            return None
        cached_price = price.input if price.cached is None else price.cached
        uncached = usage.prompt - usage.cached
        return (uncached * price.input + usage.cached * cached_price + usage.completion * price.output) / MILLION

    def price(self, model: str) -> Price | None:
        """Return the price of a model, or None if it is unknown.

        A version with a date or "latest" has the price of its model, but gpt-4o-audio is not a version of gpt-4o.
        """
        if model in self.models:
            return self.models[model]
        name, prices = _VENDOR.sub("", model), {_VENDOR.sub("", known): price for known, price in self.models.items()}
        return prices.get(name) or prices.get(_VERSION.sub("", name))
