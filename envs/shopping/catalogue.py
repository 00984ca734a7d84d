"""The products and the customers' wishes, from our own catalogue or from the user's files.

Our catalogue has 1,200 products and 546 wishes. It is generated from ``kinds.json`` with fixed seeds. Each kind of
product, such as body lotion, has ten families of three similar products. The second product of a family differs from
the first in one attribute, and costs 3% less. The third costs 60% more, and lacks one value of each option.

The user's files have WebShop's format:

- ``items`` is a list of products, like WebShop's ``items_shuffle.json``.
- ``attributes`` maps the id of a product to its attributes, like ``items_ins_v2.json``.
- ``goals`` maps the id of a product to the wishes that people wrote for it, like ``items_human_ins.json``.

Without a file of goals, wishes are generated like WebShop's synthetic goals: each instruction in the file of attributes
becomes one wish for each combination of option values. If a product has a price range, its price is drawn from the
range, as in WebShop. The product's id is the seed, so prices are the same in every run.
"""

import itertools
import json
import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from planbook.envs.errors import BadSelection


@dataclass(frozen=True)
class Product:
    """One product. Prices are in dollars."""

    id: str
    title: str
    category: str
    """The department, such as ``beauty``."""
    query: str
    """Search words for this kind of product, such as ``body lotion``."""
    path: str
    """The departments that lead to this kind, such as ``Beauty & Personal Care › Skin Care › Body Lotion``."""
    description: str
    bullets: tuple[str, ...]
    attributes: tuple[str, ...]
    options: Mapping[str, Mapping[str, float]]
    """A dict from option name to a dict from value to its surcharge, which is added to ``price``."""
    price: float
    price_shown: tuple[float, float] | None = None
    """The price range on the product's page, or None if it follows from the surcharges of the options."""
    rating: str = "N.A."
    reviews: tuple[str, ...] = ()

    def price_of(self, chosen: Mapping[str, str]) -> float:
        """Return the price with the chosen options. An option that is not chosen has its first value."""
        surcharges = (values.get(chosen.get(name, next(iter(values))), 0.0) for name, values in self.options.items())
        return round(self.price + sum(surcharges), 2)

    def price_range(self, chosen: Mapping[str, str]) -> tuple[float, float]:
        """Return the lowest and the highest price to show: ``price_shown``, or the limits with the chosen options."""
        if self.price_shown:
            return self.price_shown
        surcharges = [
            [values[chosen[name]]] if name in chosen else values.values() for name, values in self.options.items()
        ]
        return round(self.price + sum(map(min, surcharges)), 2), round(self.price + sum(map(max, surcharges)), 2)


@dataclass(frozen=True)
class Wish:
    """A customer's wish: the sentence that the agent reads, and the criteria by which a purchase is judged."""

    sentence: str
    product: str
    """The id of a product that fulfils the wish. Others of the same kind may fulfil it, too."""
    attributes: tuple[str, ...]
    """The attributes that the product must have."""
    values: tuple[str, ...]
    """The option values that must be chosen."""
    price_below: float | None = None
    """The price limit, or None if the sentence names none."""


@dataclass(frozen=True)
class Shop:
    """All products and all wishes."""

    products: Mapping[str, Product]
    """The products, keyed by id."""
    wishes: Sequence[Wish]
    """The wishes in random order. Each split of the tasks is a range of these wishes."""


def format_price(amount: float) -> str:
    """Return a price such as ``$12.50``."""
    return f"${amount:,.2f}"


def price_clause(limit: float | None) -> str:
    """Return the clause at the end of a wish's sentence that names the price limit, or "" if there is no limit."""
    return "" if limit is None else f", and price lower than {limit:.2f} dollars"


KINDS = Path(__file__).with_name("kinds.json")
Entry = Mapping[str, Any]
"""An object of ``kinds.json``, or an entry of one of the user's files."""


@cache
def _kinds_data() -> Entry:
    data: Entry = json.loads(KINDS.read_text(encoding="utf-8"))
    return data


def random_brand(rng: random.Random) -> str:
    """Return a random brand: a maker and a product line, such as ``Fenmere Juniper``."""
    names = _kinds_data()["names"]
    return f"{rng.choice(names['begins'])}{rng.choice(names['ends'])} {rng.choice(names['lines'])}"


def title_case(text: str) -> str:
    """Return the text with the first letter of each word in upper case."""
    return " ".join(word[:1].upper() + word[1:] for word in text.split())


def random_phrase(purpose: str, rng: random.Random) -> str:
    """Return a random phrase with placeholders. ``purpose`` is the kind of text, such as ``review``."""
    return str(rng.choice(_kinds_data()["phrases"][purpose]))


SHUFFLE_SEED = 233
"""WebShop's seed for shuffling its goals."""
FAMILIES_PER_KIND, WISH_COUNT = 10, 546
"""The number of families of products for each kind, and the number of wishes in our catalogue."""
P_OPTION = 0.6
"""The probability that a wish names any given option. About one in five wishes names none, as in WebShop."""
PRICE_LIMITS = tuple(10.0 * n for n in range(1, 100))
"""The price limits that sentences name: 10, 20, ... 990 dollars."""


@cache
def generated_shop() -> Shop:
    """Return the shop with our own catalogue, which is generated once per process, in about 50 ms."""
    data = _kinds_data()
    products = {
        product.id: product
        for category, details in data["categories"].items()
        for kind in details["kinds"]
        for number in range(FAMILIES_PER_KIND)
        for product in _family(category, details["path"], kind, data["axes"], number)
    }
    return Shop(products, _wishes(list(products.values())))


def draw_price_limit(price: float, rng: random.Random) -> float | None:
    """Return a random price limit for a wish whose product has this price, as in WebShop, or None for no limit.

    The limit is the higher of two values drawn from the next four PRICE_LIMITS above the price. If fewer than two are
    above the price, there is no limit.
    """
    higher = [limit for limit in PRICE_LIMITS if limit > price][:4]
    return max(rng.sample(higher, 2)) if len(higher) >= 2 else None


def _family(category: str, path: str, kind: Entry, axes: Mapping[str, Sequence[str]], number: int) -> Iterator[Product]:
    rng = random.Random(f"{category}/{kind['noun']}/{number}")
    noun, attributes = kind["noun"], rng.sample(kind["attributes"], 5)
    least, most = kind["price"]
    first = Product(
        id=_new_id(rng),
        title=f"{random_brand(rng)} {{}} {title_case(noun)} with {title_case(rng.choice(kind['with']))}",
        category=category,
        query=noun,
        path=f"{path} › {kind['group']} › {title_case(noun)}",
        description="",
        bullets=(),
        attributes=tuple(attributes[:4]),
        options={name: _draw_surcharges(axes[axis], least, rng) for name, axis in kind["options"].items()},
        price=round(rng.uniform(least, most), 2),
        rating=f"{rng.uniform(2.8, 5.0):.1f}",
    )
    yield _with_texts(first, rng)
    cheaper, dearer = round(first.price * 0.97, 2), round(first.price * 1.6, 2)
    attributes_of_second = (*first.attributes[:3], attributes[4])
    yield _with_texts(replace(first, id=_new_id(rng), attributes=attributes_of_second, price=cheaper), rng)
    fewer_values = {name: dict(list(values.items())[1:]) for name, values in first.options.items()}
    yield _with_texts(replace(first, id=_new_id(rng), options=fewer_values, price=dearer), rng)


def _new_id(rng: random.Random) -> str:
    return "B0" + "".join(rng.choices("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", k=8))


def _draw_surcharges(values: Sequence[str], least: float, rng: random.Random) -> dict[str, float]:
    """Return a dict that maps three to five of an option's possible values to random surcharges.

    ``least`` is the lowest price of products of this kind.
    """
    indexes = sorted(rng.sample(range(len(values)), rng.randint(3, min(5, len(values)))))
    return {values[index]: rng.choice((0.0, 0.0, round(least * rng.uniform(0.1, 0.6), 2))) for index in indexes}


def _with_texts(product: Product, rng: random.Random) -> Product:
    """Return the product with its texts: title, description, bullets and reviews.

    The title names one of the product's attributes, the description two, and the bullets all of them.
    """
    noun, attributes = product.query, rng.sample(product.attributes, len(product.attributes))
    first, second = attributes[:2]
    made_with = product.title.partition(" with ")[2].lower()
    return replace(
        product,
        title=product.title.format(title_case(first)),
        description=random_phrase("description", rng).format(noun=noun, first=first, second=second, extra=made_with),
        bullets=tuple(random_phrase("bullet", rng).format(noun=noun, attribute=attribute) for attribute in attributes),
        reviews=tuple(random_phrase("review", rng).format(noun=noun) for _ in range(rng.randint(0, 3))),
    )


def _wishes(products: Sequence[Product]) -> Sequence[Wish]:
    """Return wishes for random products in random order, like WebShop's goals."""
    wishes = [_wish(product, random.Random(f"wish/{product.id}")) for product in products]
    random.Random(SHUFFLE_SEED).shuffle(wishes)
    return wishes[:WISH_COUNT]


def _wish(product: Product, rng: random.Random) -> Wish:
    attributes = rng.sample(product.attributes, rng.choice((1, 2, 2, 3)))
    options = {name: rng.choice(list(values)) for name, values in product.options.items() if rng.random() < P_OPTION}
    limit = draw_price_limit(product.price_of(options), rng)
    return Wish(
        sentence=_sentence(product.query, attributes, options, rng) + price_clause(limit),
        product=product.id,
        attributes=tuple(attributes),
        values=tuple(options.values()),
        price_below=limit,
    )


def _sentence(noun: str, attributes: Sequence[str], options: Mapping[str, str], rng: random.Random) -> str:
    return random_phrase("wish" if options else "plain wish", rng).format(
        noun=noun,
        listed=", ".join(attributes),
        joined=" and ".join(attributes),
        given=", and ".join(f"{name}: {value}" for name, value in options.items()),
        values=", ".join(options.values()),
    )


DEFAULT_PRICE = 100.0
"""The price, in dollars, of a product whose entry has no price."""
MAX_ID_LENGTH = 10
"""Maximum length of a product's id. Products with longer ids are left out."""
_AMOUNT = re.compile(r"\$\s*([\d,]+(?:\.\d+)?)")


@cache
def load_shop(items: str, attributes: str, goals: str) -> Shop:
    """Return the shop that the files describe. The files are read once per process.

    Raises BadSelection if a file cannot be read or does not have WebShop's format, or if there are no wishes.
    """
    products: dict[str, Product] = {}
    try:
        attribute_table, goal_table = _read_table(attributes), _read_table(goals) if goals else None
        for entry in _read(items):
            id = str(entry["asin"]).upper()
            if id != "NAN" and len(id) <= MAX_ID_LENGTH and id not in products:
                products[id] = _product(id, entry, attribute_table.get(id, {}))
        wishes = [wish for product in products.values() for wish in _file_wishes(product, attribute_table, goal_table)]
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        files = ", ".join(filter(None, (items, attributes, goals)))
        raise BadSelection(f"shopping: {files}: not in WebShop's format: {type(error).__name__}: {error}") from error
    random.Random(SHUFFLE_SEED).shuffle(wishes)
    if not wishes:
        raise BadSelection(
            f"shopping: {items} has products, but there are no goals: name a file of goals "
            "(-o goals=items_human_ins.json), or of attributes with instructions (-o attributes=items_ins_v2.json)"
        )
    return Shop(products, wishes)


def _read(file: str) -> Any:
    try:
        return json.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadSelection(f"shopping: {file} cannot be read: {error}") from error


def _read_table(file: str) -> Entry:
    return {id.upper(): entry for id, entry in _read(file).items()} if file else {}


def _product(id: str, entry: Entry, attributes: Entry) -> Product:
    bullets = entry.get("small_description") or []
    least, most = _prices(entry.get("pricing"))
    price = random.Random(f"price/{id}").uniform(least, most) if most > least else least
    return Product(
        id=id,
        title=str(entry["name"]),
        category=str(entry["category"]),
        query=str(entry["query"]).lower().strip(),
        path=str(entry["product_category"]),
        description=str(entry.get("full_description") or ""),
        bullets=tuple(map(str, bullets if isinstance(bullets, list) else [bullets])),
        attributes=tuple(map(str, attributes.get("attributes", ()))),
        options=dict(_options(entry.get("customization_options") or {})),
        price=price,
        price_shown=(least, most),
        rating=str(entry.get("average_rating") or "N.A."),
    )


def _prices(entry: object) -> tuple[float, float]:
    amounts = entry if isinstance(entry, list) else _AMOUNT.findall(str(entry or ""))
    prices = sorted(float(str(amount).replace(",", "")) for amount in amounts[:2])
    return (prices[0], prices[-1]) if prices else (DEFAULT_PRICE, DEFAULT_PRICE)


def _options(entry: Entry) -> Iterator[tuple[str, Mapping[str, float]]]:
    """Yield the name of each option, with a dict that maps its values to a surcharge of 0.

    As in WebShop, names and values are in lower case, and ``a/b`` in a value becomes ``a | b``.
    """
    for name, contents in entry.items():
        values = [str(content["value"]).strip().replace("/", " | ").lower() for content in contents or ()]
        if values:
            yield name.lower(), dict.fromkeys(values, 0.0)


def _file_wishes(product: Product, attributes: Entry, goals: Entry | None) -> Iterator[Wish]:
    if goals is not None:
        for entry in goals.get(product.id, ()):
            values = entry["instruction_options"]
            values = list(values.values()) if isinstance(values, dict) else values
            yield from _file_wish(
                product, str(entry["instruction"]).strip("."), entry["instruction_attributes"], values
            )
        return
    entry = attributes.get(product.id, {})
    if not entry.get("instruction"):
        return
    names = sorted(product.options)
    for values in itertools.product(*(product.options[name] for name in names)):
        options = ", and ".join(f"{name}: {value}" for name, value in zip(names, values, strict=True))
        sentence = f"{entry['instruction']} with {options}" if options else str(entry["instruction"])
        yield from _file_wish(product, sentence, entry["instruction_attributes"], list(values))


def _file_wish(product: Product, sentence: str, attributes: list[str], values: list[str]) -> Iterator[Wish]:
    """Yield the wish. As in WebShop, a wish without attributes is left out."""
    if attributes:
        limit = draw_price_limit(product.price, random.Random(f"bound/{product.id}/{sentence}"))
        yield Wish(
            sentence + price_clause(limit), product.id, tuple(map(str, attributes)), tuple(map(str, values)), limit
        )
