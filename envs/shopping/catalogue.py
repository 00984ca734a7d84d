"""Products and wishes, and our catalogue: 1,200 products and 546 wishes, made from ``kinds.json`` and seeds.

Each kind of product has ten families of three similar products: the second has another attribute in place of one, the
third costs more and lacks one value of each option.
"""

import json
import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Product:
    """One product. Prices are in dollars; texts are unchanged from their source.

    ``options`` maps the name of an option to its values, and each value to its extra on ``price``. ``category`` is the
    department (``beauty``), ``query`` the words that find products of the kind, ``path`` their position in the shop
    (``Beauty & Personal Care › Skin Care › Body Lotion``). ``shown`` is the price range on the page if it does not
    follow from the options.
    """

    id: str
    title: str
    category: str
    query: str
    path: str
    description: str
    bullets: tuple[str, ...]
    attributes: tuple[str, ...]
    options: Mapping[str, Mapping[str, float]]
    price: float
    shown: tuple[float, float] | None = None
    rating: str = "N.A."
    reviews: tuple[str, ...] = ()

    def price_of(self, chosen: Mapping[str, str]) -> float:
        """Return the price with the chosen options; the others have their first value."""
        extras = (values.get(chosen.get(name, next(iter(values))), 0.0) for name, values in self.options.items())
        return round(self.price + sum(extras), 2)

    def price_range(self, chosen: Mapping[str, str]) -> tuple[float, float]:
        """Return the minimum and maximum price with the options chosen so far."""
        if self.shown:
            return self.shown
        extras = [
            [values[chosen[name]]] if name in chosen else values.values() for name, values in self.options.items()
        ]
        return round(self.price + sum(map(min, extras)), 2), round(self.price + sum(map(max, extras)), 2)


@dataclass(frozen=True)
class Wish:
    """A customer's wish: the sentence for the agent, and the criteria by which the purchase is judged.

    ``values`` are the wanted values of options. ``product`` also defines the wanted kind.
    """

    sentence: str
    product: str
    attributes: tuple[str, ...]
    values: tuple[str, ...]
    price_below: float | None = None
    """The upper price that the sentence names, if any."""


@dataclass(frozen=True)
class Shop:
    """All products by id, and all wishes in the order of the splits."""

    products: Mapping[str, Product]
    wishes: Sequence[Wish]


def price_text(amount: float) -> str:
    """Return a price such as ``$12.50``."""
    return f"${amount:,.2f}"


def price_clause(upper: float | None) -> str:
    """Return the clause at the end of a wish's sentence that names a price."""
    return "" if upper is None else f", and price lower than {upper:.2f} dollars"


KINDS = Path(__file__).with_name("kinds.json")


@cache
def _data() -> Mapping[str, Any]:
    data: Mapping[str, Any] = json.loads(KINDS.read_text(encoding="utf-8"))
    return data


def brand(dice: random.Random) -> str:
    """Return a random maker and product line, such as ``Fenmere Juniper``."""
    names = _data()["names"]
    return f"{dice.choice(names['begins'])}{dice.choice(names['ends'])} {dice.choice(names['lines'])}"


def heading(text: str) -> str:
    """Return a text in title case."""
    return " ".join(word[:1].upper() + word[1:] for word in text.split())


def phrase(purpose: str, dice: random.Random) -> str:
    """Return a random phrase for a purpose, with placeholders."""
    return str(dice.choice(_data()["phrases"][purpose]))


SHUFFLE_SEED = 233
"""WebShop's seed for shuffling its goals."""
FAMILIES, WISHES = 10, 546
P_OPTION = 0.6
"""Probability that a wish names an option of its product; about one in five wishes names none, as in WebShop."""
TENS = tuple(10.0 * ten for ten in range(1, 100))
Data = Mapping[str, Any]


@cache
def own_shop() -> Shop:
    """Return our catalogue, built once per process (about 50 ms)."""
    data = _data()
    products = {
        product.id: product
        for category, details in data["categories"].items()
        for kind in details["kinds"]
        for product in _kind(category, details["path"], kind, data["axes"])
    }
    return Shop(products, _wishes(list(products.values())))


def upper_price(price: float, dice: random.Random) -> float | None:
    """Return an upper price like WebShop's: the greater of two drawn from the next four tens, or None."""
    above = [ten for ten in TENS if ten > price][:4]
    return max(dice.sample(above, 2)) if len(above) >= 2 else None


def _kind(category: str, path: str, kind: Data, axes: Mapping[str, Sequence[str]]) -> Iterator[Product]:
    for number in range(FAMILIES):
        yield from _family(category, path, kind, axes, random.Random(f"{category}/{kind['noun']}/{number}"))


def _family(
    category: str, path: str, kind: Data, axes: Mapping[str, Sequence[str]], dice: random.Random
) -> Iterator[Product]:
    noun, attributes = kind["noun"], dice.sample(kind["attributes"], 5)
    least, most = kind["price"]
    first = Product(
        id=_new_id(dice),
        title=f"{brand(dice)} {{}} {heading(noun)} with {heading(dice.choice(kind['with']))}",
        category=category,
        query=noun,
        path=f"{path} › {kind['group']} › {heading(noun)}",
        description="",
        bullets=(),
        attributes=tuple(attributes[:4]),
        options={name: _values(axes[axis], least, dice) for name, axis in kind["options"].items()},
        price=round(dice.uniform(least, most), 2),
        rating=f"{dice.uniform(2.8, 5.0):.1f}",
    )
    yield _with_texts(first, dice)
    swapped = (*first.attributes[:3], attributes[4])
    yield _with_texts(replace(first, id=_new_id(dice), attributes=swapped, price=round(first.price * 0.97, 2)), dice)
    fewer = {name: dict(list(values.items())[1:]) for name, values in first.options.items()}
    yield _with_texts(replace(first, id=_new_id(dice), options=fewer, price=round(first.price * 1.6, 2)), dice)


def _new_id(dice: random.Random) -> str:
    return "B0" + "".join(dice.choices("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", k=8))


def _values(axis: Sequence[str], least: float, dice: random.Random) -> dict[str, float]:
    """Return some values of an option, in the order of their axis, with their extras on the price."""
    indexes = sorted(dice.sample(range(len(axis)), dice.randint(3, min(5, len(axis)))))
    return {axis[index]: dice.choice((0.0, 0.0, round(least * dice.uniform(0.1, 0.6), 2))) for index in indexes}


def _with_texts(product: Product, dice: random.Random) -> Product:
    """Return the product with its texts: one attribute in the title, two in the description, all in the bullets."""
    noun, attributes = product.query, dice.sample(product.attributes, len(product.attributes))
    first, second = attributes[:2]
    made_with = product.title.partition(" with ")[2].lower()
    return replace(
        product,
        title=product.title.format(heading(first)),
        description=phrase("description", dice).format(noun=noun, first=first, second=second, extra=made_with),
        bullets=tuple(phrase("bullet", dice).format(noun=noun, attribute=attribute) for attribute in attributes),
        reviews=tuple(phrase("review", dice).format(noun=noun) for _ in range(dice.randint(0, 3))),
    )


def _wishes(products: Sequence[Product]) -> Sequence[Wish]:
    """Return wishes for random products, shuffled like WebShop's goals."""
    wishes = [_wish(product, random.Random(f"wish/{product.id}")) for product in products]
    random.Random(SHUFFLE_SEED).shuffle(wishes)
    return wishes[:WISHES]


def _wish(product: Product, dice: random.Random) -> Wish:
    attributes = dice.sample(product.attributes, dice.choice((1, 2, 2, 3)))
    options = {name: dice.choice(list(values)) for name, values in product.options.items() if dice.random() < P_OPTION}
    upper = upper_price(product.price_of(options), dice)
    return Wish(
        sentence=_sentence(product.query, attributes, options, dice) + price_clause(upper),
        product=product.id,
        attributes=tuple(attributes),
        values=tuple(options.values()),
        price_below=upper,
    )


def _sentence(noun: str, attributes: Sequence[str], options: Mapping[str, str], dice: random.Random) -> str:
    return phrase("wish" if options else "plain wish", dice).format(
        noun=noun,
        listed=", ".join(attributes),
        joined=" and ".join(attributes),
        given=", and ".join(f"{name}: {value}" for name, value in options.items()),
        values=", ".join(options.values()),
    )
