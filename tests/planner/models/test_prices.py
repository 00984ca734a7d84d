"""Prices of models' tokens, from the shipped table or the user's."""

import json
from pathlib import Path

import pytest

from planbook.planner import Usage
from planbook.planner.models.types import BadPrices, Prices

MILLION = Usage(prompt=1_000_000, completion=1_000_000)


@pytest.mark.parametrize(
    ("name", "usd"),
    [
        ("gpt-4-1106-preview", 40),
        ("gpt-4o", 12.5),
        ("gpt-4o-2024-05-13", 20),
        ("gpt-4o-mini-2024-07-18", 0.75),
        ("openai:gpt-4.1-nano", 0.5),
        ("openai/gpt-4.1", 10),
        ("gpt-4-turbo-2024-04-09", 40),
        ("gpt-4o-latest", 12.5),
    ],
)
def test_known_models_and_their_dated_versions_have_prices(name: str, usd: float) -> None:
    assert Prices.load().cost(name, MILLION) == pytest.approx(usd)


@pytest.mark.parametrize("name", ["", "gpt-4omni", "gpt-4o-audio-preview", "ft:gpt-4o:me", "gpt-4o-"])
def test_an_unknown_model_has_no_price(name: str) -> None:
    assert Prices.load().cost(name, MILLION) is None


def test_cached_tokens_cost_less_if_the_table_has_their_price() -> None:
    usage = Usage(prompt=1_000_000, cached=400_000)
    prices = Prices.load()
    assert prices.cost("gpt-4o", usage) == pytest.approx(0.6 * 2.5 + 0.4 * 1.25)
    assert prices.cost("gpt-4-turbo", usage) == pytest.approx(10)
    assert prices.cost("gpt-4o", Usage()) == 0


def test_the_shipped_table_has_its_date_and_source() -> None:
    prices = Prices.load()
    assert prices.as_of.startswith("20")
    assert "published by the maker" in prices.about
    assert all(price.output >= price.input >= (price.cached or 0) for price in prices.models.values())


@pytest.mark.parametrize(
    ("table", "costs"),
    [
        ({"mine": 1}, {"mine": 1, "openai:mine": 1, "gpt-4o": None}),
        ({"openai:mine": 1}, {"mine": 1, "openai:mine": 1}),
        ({"openai/mine": 2, "mine": 1}, {"openai/mine": 2, "mine": 1}),
    ],
)
def test_another_table_names_models_with_or_without_the_server(
    tmp_path: Path, table: dict[str, int], costs: dict[str, int | None]
) -> None:
    path = tmp_path / "prices.json"
    path.write_text(json.dumps({"models": {name: {"input": usd, "output": 0} for name, usd in table.items()}}))
    assert {name: Prices.load(path).cost(name, MILLION) for name in costs} == costs


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("{", r"prices\.json: Invalid JSON"),
        ('{"models": {"m": {"input": 1}}}', r"prices\.json: models\.m\.output: Field required; a price table is"),
        ('{"models": {"m": {"input": -1, "output": 1}}}', r"models\.m\.input: Input should be greater"),
        ('{"models": {"m": {"input": NaN, "output": 1}}}', r"prices\.json"),
        ('{"models": {"m": {"input": 1, "output": 1, "price": 1}}}', r"models\.m\.price: Extra inputs"),
    ],
)
def test_an_invalid_table_is_refused(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "prices.json"
    path.write_text(content)
    with pytest.raises(BadPrices, match=message):
        Prices.load(path)
    with pytest.raises(BadPrices, match=r"none\.json cannot be read: No such file"):
        Prices.load(tmp_path / "none.json")
