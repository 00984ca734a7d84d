"""Token estimates, which are needed before a server counts, and prices of tokens."""

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
"""Number of tokens that a chat template adds to each message: its role and two marks."""
_CACHE_SIZE = 16 << 20
"""Maximum number of characters of the messages whose token counts are cached."""
MARGIN = 1.35
"""Factor from the estimate to an upper limit on a prompt's tokens. The estimate of German texts was 26 % too low."""


@cached_up_to(_CACHE_SIZE)  # because a conversation is counted again for each reply
def estimate_tokens(text: str) -> int:
    """Return the estimated number of tokens of a text, which tends to be too high.

    Measured against five tokenizers (cl100k, o200k, DeepSeek's, Claude 2's, SmolLM2's): Python code 9 to 41 % too
    many, English 0 to 27 %, HTML and JSON 21 to 45 %, observations full of numbered objects -4 to 22 %. Other scripts
    vary with the vocabulary: German 26 % too few to 8 % too many, Chinese 19 % too few to 2.4 times, Russian 1.1 to 2.7
    times too many.
    """
    return int(sum(map(_piece_tokens, _PIECE.findall(text))) + 0.5)


def _piece_tokens(piece: str) -> float:
    if not piece.isascii():
        return len(piece.encode("utf-8", "surrogatepass")) / _BYTES_PER_TOKEN
    if piece[0].isalpha():
        return -(-len(piece) // _LETTERS_PER_TOKEN)
    return len(piece) if piece[-1].isdigit() else 1  # " 7" is two tokens in nearly every vocabulary


def estimate_prompt(messages: Iterable[Message]) -> int:
    """Return the estimated number of tokens of a conversation, chat template included."""
    return sum(estimate_tokens(message.content) + MESSAGE_TOKENS for message in messages)


def max_usage(messages: Iterable[Message], sampling: Sampling) -> Usage:
    """Return an upper limit on the tokens of a call: the estimated prompt times MARGIN, and the longest reply."""
    prompt = int(estimate_prompt(messages) * MARGIN)
    longest = sampling.max_tokens or max(sampling.context - prompt, 0)
    return Usage(prompt=prompt, completion=longest, estimated=True)


def usage_of_cut(usage: Usage, whole: str, text: str) -> Usage:
    """Return the usage of a reply of which only ``text`` was passed on, from the usage of the ``whole`` reply."""
    if text == whole:
        return usage
    completion = round(usage.completion * len(text) / len(whole))
    return usage.model_copy(update={"completion": completion, "estimated": True})


def estimated_usage(messages: Sequence[Message], text: str) -> Usage:
    """Return the estimated usage of a reply whose server did not count."""
    return Usage(prompt=estimate_prompt(messages), completion=estimate_tokens(text), estimated=True)


SHIPPED_PRICES = Path(__file__).with_name("prices.json")
"""The price table that ships."""
MILLION = 1_000_000
_VERSION = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8}|\d{4}|latest)")
_VENDOR = re.compile(r"^openai[:/]")


class BadPrices(PlannerError):
    """A price table that cannot be read."""


class Price(Record):
    """USD per million tokens. Without ``cached``, cached prompt tokens cost as much as others."""

    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)
    cached: float | None = Field(default=None, ge=0, allow_inf_nan=False)


class Prices(Record):
    """A table of prices: those published on a certain day, or a user's own."""

    about: str = ""
    as_of: str = ""
    models: Mapping[str, Price]

    @classmethod
    def load(cls, path: str | Path | None = None) -> "Prices":
        """Read a table, by default the one that ships. Raises BadPrices."""
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
        """Return the cost in USD; None if the price is unknown, which is not the same as free."""
        price = self.price(model)
        if price is None:
            return None
        cached = price.input if price.cached is None else price.cached
        fresh = usage.prompt - usage.cached
        return (fresh * price.input + usage.cached * cached + usage.completion * price.output) / MILLION

    def price(self, model: str) -> Price | None:
        """Return the price of a model, or of the model of which it is a dated version; None if unknown."""
        if model in self.models:
            return self.models[model]
        name, prices = _VENDOR.sub("", model), {_VENDOR.sub("", known): price for known, price in self.models.items()}
        known = [known for known in prices if name == known or _is_version(name, known)]
        return prices[max(known, key=len)] if known else None


def _is_version(name: str, known: str) -> bool:
    """Return True if only a date or "latest" follows the known name: gpt-4o-audio is not gpt-4o and costs more."""
    return name.startswith(known) and _VERSION.fullmatch(name[len(known) :]) is not None
