"""Read products and wishes from the user's files, which have WebShop's format.

- ``items`` is a list of products, like WebShop's ``items_shuffle.json``.
- ``attributes`` maps the id of a product to its attributes, like ``items_ins_v2.json``.
- ``goals`` maps the id of a product to the wishes that people wrote for it, like ``items_human_ins.json``.

Without goals, wishes are generated like WebShop's synthetic ones: an instruction in the file of attributes becomes one
wish for each combination of options. If a product has a price range, its price is drawn from the range, as in WebShop.
Here the product's id is the seed, so that the prices are the same in every run.
"""

import itertools
import json
import random
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

from planbook.envs.errors import BadSelection
from planbook.envs.shopping.catalogue import SHUFFLE_SEED, Product, Shop, Wish, price_clause, upper_price

DEFAULT_PRICE = 100.0
"""The price, in dollars, of a product whose entry has no price."""
MAX_ID_LENGTH = 10
"""Maximum length of a product's id. Products with longer ids are left out."""
_AMOUNT = re.compile(r"\$\s*([\d,]+(?:\.\d+)?)")
Entry = Mapping[str, Any]
"""An entry of a file: a product, or the attributes of one."""


@cache
def load_shop(items: str, attributes: str, goals: str) -> Shop:
    """Return the shop that the files describe. They are read once per process.

    Raises BadSelection if a file cannot be read or does not have WebShop's format.
    """
    attribute_table, goal_table = _table(attributes), _table(goals) if goals else None
    products: dict[str, Product] = {}
    try:
        for entry in _read(items, list):
            id = str(entry["asin"]).upper()
            if id != "NAN" and len(id) <= MAX_ID_LENGTH and id not in products:
                products[id] = _product(id, entry, attribute_table.get(id, {}))
        wishes = [wish for product in products.values() for wish in _wishes(product, attribute_table, goal_table)]
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


def _read(file: str, expected: type) -> Any:
    try:
        content = json.loads(Path(file).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise BadSelection(f"shopping: {file} cannot be read: {error}") from error
    if not isinstance(content, expected):
        raise BadSelection(f"shopping: {file} is not a {'list of products' if expected is list else 'table by id'}")
    return content


def _table(file: str) -> Mapping[str, Any]:
    return {id.upper(): entry for id, entry in _read(file, dict).items()} if file else {}


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


def _options(entry: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, float]]]:
    """Yield the name of each option, and its values mapped to a surcharge of 0.

    As in WebShop, both are in lower case, and ``a/b`` in a value becomes ``a | b``.
    """
    for name, contents in entry.items():
        values = [str(content["value"]).strip().replace("/", " | ").lower() for content in contents or ()]
        if values:
            yield name.lower(), dict.fromkeys(values, 0.0)


def _wishes(product: Product, attributes: Mapping[str, Any], goals: Mapping[str, Any] | None) -> Iterator[Wish]:
    if goals is not None:
        for entry in goals.get(product.id, ()):
            values = entry["instruction_options"]
            values = list(values.values()) if isinstance(values, dict) else values
            yield from _wish(product, str(entry["instruction"]).strip("."), entry["instruction_attributes"], values)
        return
    entry = attributes.get(product.id, {})
    if not entry.get("instruction"):
        return
    names = sorted(product.options)
    for values in itertools.product(*(product.options[name] for name in names)):
        options = ", and ".join(f"{name}: {value}" for name, value in zip(names, values, strict=True))
        sentence = f"{entry['instruction']} with {options}" if options else str(entry["instruction"])
        yield from _wish(product, sentence, entry["instruction_attributes"], list(values))


def _wish(product: Product, sentence: str, attributes: list[str], values: list[str]) -> Iterator[Wish]:
    """Yield the wish, unless it has no attributes. WebShop leaves out such wishes, too."""
    if attributes:
        upper = upper_price(product.price, random.Random(f"bound/{product.id}/{sentence}"))
        yield Wish(
            sentence + price_clause(upper), product.id, tuple(map(str, attributes)), tuple(map(str, values)), upper
        )
