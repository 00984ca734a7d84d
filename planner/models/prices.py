"""Prices of tokens by model."""

import re
from collections.abc import Mapping
from pathlib import Path

from pydantic import Field, ValidationError

from planbook.planner.errors import PlannerError
from planbook.planner.models.types import Usage
from planbook.planner.types import Record

SHIPPED = Path(__file__).with_name("prices.json")
MILLION = 1_000_000
_VERSION = re.compile(r"-(\d{4}-\d{2}-\d{2}|\d{8}|\d{4}|latest)")
_MAKER = re.compile(r"openai[:/]")


class BadPrices(PlannerError):
    """A price table that cannot be read."""


class Price(Record):
    """USD per million tokens. Without ``cached``, cached prompt tokens cost as much as others."""

    input: float = Field(ge=0, allow_inf_nan=False)
    output: float = Field(ge=0, allow_inf_nan=False)
    cached: float | None = Field(default=None, ge=0, allow_inf_nan=False)


class Prices(Record):
    """A table of prices: the published ones of a certain day, or a user's own."""

    about: str = ""
    as_of: str = ""
    models: Mapping[str, Price]

    @classmethod
    def load(cls, path: str | Path | None = None) -> "Prices":
        """Read a table, by default the one that ships. Raises BadPrices, saying what is wrong in the file."""
        path = Path(path) if path else SHIPPED
        try:
            return cls.model_validate_json(path.read_bytes())
        except OSError as error:
            raise BadPrices(f"the prices {path} cannot be read: {error.strerror}") from error
        except ValidationError as error:
            first = error.errors()[0]
            place = ": ".join([str(path), ".".join(map(str, first["loc"]))]).removesuffix(": ")
            raise BadPrices(
                f'{place}: {first["msg"]}; a price table is {{"as_of": DAY, "models": {{NAME: {{"input": USD, '
                f'"cached": USD, "output": USD}}}}}}, in USD per million tokens'
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
        """Return the price of a model, or of the model that it is a dated version of."""
        name = _MAKER.sub("", model, count=1) if _MAKER.match(model) else model
        known = [each for each in self.models if each == name or _is_version(name, each)]
        return self.models[max(known, key=len)] if known else None


def _is_version(name: str, of: str) -> bool:
    """Return whether the rest of the name is a date: gpt-4o-audio is not gpt-4o and costs more."""
    return name.startswith(of) and _VERSION.fullmatch(name[len(of) :]) is not None
