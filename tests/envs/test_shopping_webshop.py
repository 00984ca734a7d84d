"""The reward is compared, on random products, with a second implementation of WebShop's definition."""

from collections.abc import Mapping

import pytest
from hypothesis import given, strategies as st
from thefuzz import fuzz

from planbook.envs.shopping.catalogue import Product, Wish
from planbook.envs.shopping.webshop import COLORS, NOT_NOUNS, count_option_hits, kind_factor, reward, title_score, words

NOUNS = ("lamp", "shade", "table", "chair", "mug", "rug", "bolt", "clock", "tray", "stand", "cover", "frame")
PHRASES = tuple("cruelty free,sugar free,free of sugar,long lasting,high speed,low sodium,usb port,soft".split(","))
VALUES = ("navy blue", "blue", "dark chocolate", "4 ounce", "4 ounce (pack of 2)", "small", "x-small", "steel", "queen")
PATHS = ("Home › Lamps › Table Lamps", "Home › Lamps", "Food › Snacks › Bars", "Home › Rugs › Wool", "")

titles = st.lists(st.sampled_from(NOUNS), min_size=1, max_size=12).map(" ".join)
phrases = st.lists(st.sampled_from(PHRASES), max_size=4, unique=True).map(tuple)


def product(title: str = "lamp", attributes: tuple[str, ...] = (), **more: object) -> Product:
    values: dict[str, object] = {
        "id": "B000000001",
        "title": title,
        "category": "garden",
        "query": "lamp",
        "path": "Home › Lamps",
        "description": "",
        "bullets": (),
        "attributes": attributes,
        "options": {"color": dict.fromkeys(VALUES, 0.0), "size": dict.fromkeys(VALUES, 0.0)},
        "price": 10.0,
        **more,
    }
    return Product(**values)  # type: ignore[arg-type]


products = st.builds(
    product,
    title=titles,
    attributes=phrases,
    query=st.sampled_from(("lamp", "rug", "bar")),
    path=st.sampled_from(PATHS),
    description=st.sampled_from(("", "A LOW SODIUM thing", "with usb port")),
    bullets=st.sampled_from(((), ("Soft", "and High", "Speed inside"))),
    price=st.sampled_from((5.0, 20.0, 80.0)),
)
wishes = st.builds(
    Wish,
    sentence=st.just("any"),
    product=st.just("B000000001"),
    attributes=phrases.filter(bool),
    values=st.lists(st.sampled_from(VALUES), max_size=3).map(tuple),
    price_below=st.sampled_from((10.0, 20.0, None)),
)
choices = st.dictionaries(st.sampled_from(("color", "size")), st.sampled_from(VALUES))


def reward_by_definition(bought: Product, chosen: Mapping[str, str], wish: Wish, wanted: Product) -> float:
    """Return the reward as WebShop's formula defines it. The titles in this file consist of nouns alone."""
    nouns, own = wanted.title.split(), set(bought.title.split())
    shared = len(set(nouns) & own) / len(nouns)
    steps = {step.strip() for step in bought.path.split("›")} & {step.strip() for step in wanted.path.split("›")}
    factor = 1.0 if bought.query == wanted.query or len(steps) > 1 or shared > 0.2 else 0.5
    factor = 0.0 if shared == 0 else 0.1 if shared < 0.1 else factor
    hits = 0
    for attribute in wish.attributes:
        listed = [each for each in bought.attributes if fuzz.token_set_ratio(each, attribute) > 85]
        text = "\n".join([bought.title, " ".join(bought.bullets), bought.description]).lower()
        hits += 1 if listed or attribute in text else 0
    for value in wish.values:
        asked = ([color for color in COLORS if color in value] or [value])[0]
        had = [([color for color in COLORS if color in each] or [each])[0] for each in chosen.values()]
        hits += 1 if [each for each in had if fuzz.token_set_ratio(each, asked) > 85] else 0
    hits += 1 if wish.price_below is None or bought.price <= wish.price_below else 0
    return factor * hits / (len(wish.attributes) + len(wish.values) + 1)


@given(products, choices, wishes, products)
def test_the_reward_agrees_with_the_definition_of_webshop(
    bought: Product, chosen: Mapping[str, str], wish: Wish, wanted: Product
) -> None:
    earned = reward(bought, chosen, wish, wanted)
    assert earned == pytest.approx(reward_by_definition(bought, chosen, wish, wanted), abs=0)
    assert 0.0 <= earned <= 1.0


def test_an_expensive_option_may_exceed_the_price_limit() -> None:
    lamp = product(attributes=("soft",), options={"size": {"small": 0.0, "large": 0.01}})
    wish = Wish("any", lamp.id, ("soft",), (), 10.0)
    assert reward(lamp, {"size": "small"}, wish, lamp) == 1.0
    assert reward(lamp, {"size": "large"}, wish, lamp) == 1 / 2
    assert reward(lamp, {}, wish, lamp) == 1.0, "an option that is not chosen has its first value"


@pytest.mark.parametrize(
    ("chosen", "wanted", "hits"),
    [
        (["navy blue"], ["light blue"], 1),
        (["navy"], ["light blue"], 0),
        (["dark blue"], ["blue"], 1),
        (["blue"], ["blue", "sky blue"], 2),
        (["4 ounce (pack of 2)"], ["4 ounce"], 1),
        (["x-small"], ["small"], 1),
        ([], ["small"], 0),
        (["small"], [], 0),
        (["", "large"], ["large"], 1),
    ],
)
def test_options_match_as_in_webshop(chosen: list[str], wanted: list[str], hits: int) -> None:
    assert count_option_hits(chosen, wanted) == hits


def test_the_kind_factor_has_four_values() -> None:
    wanted = product(" ".join(NOUNS))
    assert kind_factor(product("lamp shade table"), wanted) == 1.0
    assert kind_factor(product("lamp shade", query="rug", path="Garden › Rugs"), wanted) == 0.5
    assert kind_factor(product("lamp shade", query="rug", path="Home › Lamps › Old"), wanted) == 1.0
    assert kind_factor(product("lamp"), wanted) == 0.1
    assert kind_factor(product("book"), wanted) == 0.0


def test_only_nouns_of_a_title_count() -> None:
    assert title_score("The Best Mug for You", "Best Lamp for You") == 0.0
    assert title_score("Mug, 12-Pack", "MUG (12) pack") == 1.0
    assert title_score("Mug", "12 of the best") == 0.2, "neither has a noun to compare"
    assert NOT_NOUNS.isdisjoint(NOUNS)


def test_a_search_disregards_stop_words_and_the_s_of_a_plural() -> None:
    assert words("Lamps of GLASS and a gas") == ["lamp", "glass", "gas"]
