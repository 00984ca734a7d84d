"""The pages of the shop as text, and their buttons.

Buttons are in square brackets. Texts of products are put on one line, with round brackets in place of square ones, so
that no product can forge a button.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from planbook.envs.shopping.catalogue import Product, Shop, price_text

SEARCH, RESULTS, ITEM, DONE = "search", "results", "item", "done"
SUB_PAGES = {"Description": "description", "Features": "features", "Reviews": "reviews", "Attributes": "attributes"}
"""Maps a button of an item's page to the page behind it."""
NEXT, PREV, BACK, BUY = "Next >", "< Prev", "Back to Search", "Buy Now"
_BUTTONS = frozenset(button.lower() for button in (PREV, BACK, BUY, *SUB_PAGES))
"""Labels of the buttons of an item's page, except for its options, in lower case."""


@dataclass(frozen=True)
class ShopState:
    """The customer's position in the shop, the whole state of an episode. ``number`` counts pages of results from 1."""

    page: str = SEARCH
    keywords: str = ""
    results: tuple[str, ...] = ()
    number: int = 1
    product: str = ""
    chosen: Mapping[str, str] = field(default_factory=dict)


@lru_cache(maxsize=20_000)
def line(text: str) -> str:
    """Return a product's text as pages show it."""
    shown = " ".join(text.split()).replace("[", "(").replace("]", ")")
    return shown if shown.isprintable() else "".join(filter(str.isprintable, shown))


class ShopPages:
    """The text and the buttons of each page."""

    def __init__(self, shop: Shop, window: int) -> None:
        self._shop, self._window = shop, window

    def on_page(self, place: ShopState) -> tuple[str, ...]:
        """Return the ids of the products that a page of results shows."""
        return place.results[(place.number - 1) * self._window : place.number * self._window]

    def buttons(self, place: ShopState) -> list[str]:
        """Return the labels that can be clicked, in the order of the page."""
        if place.page == RESULTS:
            return [*self._navigation(place), *self.on_page(place)]
        if place.page == ITEM:
            values = [value for values in self.options(place).values() for value in values]
            return list(dict.fromkeys([BACK, PREV, *values, *SUB_PAGES, BUY]))
        return [BACK, PREV] if place.page in SUB_PAGES.values() else []

    def options(self, place: ShopState) -> dict[str, list[str]]:
        """Return the options of the current product as its page shows them; {} on other pages.

        A value with the label of one of the shop's buttons is left out, since a click would mean that button.
        """
        if place.page != ITEM:
            return {}
        options = self._product(place).options
        shown = {line(name): [line(value) for value in values] for name, values in options.items()}
        return {name: [value for value in values if value.lower() not in _BUTTONS] for name, values in shown.items()}

    def text(self, place: ShopState) -> str:
        """Return the page as text."""
        if place.page == SEARCH:
            return "The search page. There is a search box here, and nothing to click."
        if place.page == RESULTS:
            return "\n".join(self._results(place))
        if place.page == ITEM:
            return "\n".join(self._item(place))
        if place.page == DONE:
            return f"You have bought {self._purchase(place)}. The shopping is over."
        return "\n".join(self._sub_page(place))

    def summary(self, place: ShopState) -> str:
        """Return the customer's position in one line."""
        if place.page == RESULTS:
            return f"You are on page {place.number} of the results for '{line(place.keywords)}'."
        if place.page == SEARCH:
            return "You are on the search page."
        if place.page == DONE:
            return f"You have bought {self._purchase(place)}."
        selected = f"; selected: {_selected(place)}" if place.chosen else ""
        return f"You are on the {place.page} page of {self._heading(place)}{selected}."

    def _navigation(self, place: ShopState) -> list[str]:
        more = place.number * self._window < len(place.results)
        return [BACK, *([PREV] if place.number > 1 else []), *([NEXT] if more else [])]

    def _results(self, place: ShopState) -> Sequence[str]:
        ids, first = self.on_page(place), (place.number - 1) * self._window + 1
        content = f"{first} to {first + len(ids) - 1} of {len(place.results)}" if ids else "none"
        products = [self._shop.products[id] for id in ids]
        lines = [f"[{product.id}] {line(product.title)}, {_price(product, {})}" for product in products]
        buttons = " ".join(f"[{button}]" for button in self._navigation(place))
        return [f"Results for '{line(place.keywords)}': {content}", buttons, *lines]

    def _item(self, place: ShopState) -> Sequence[str]:
        product, buttons = self._product(place), " ".join(f"[{button}]" for button in SUB_PAGES)
        options = [f"{name}: {' '.join(f'[{v}]' for v in values)}" for name, values in self.options(place).items()]
        return [
            f"The page of {self._heading(place)}",
            f"[{BACK}] [{PREV}]",
            f"Price: {_price(product, place.chosen)}",
            f"Rating: {line(product.rating)}",
            *options,
            f"Selected: {_selected(place) or 'nothing'}",
            f"{buttons} [{BUY}]",
        ]

    def _sub_page(self, place: ShopState) -> Sequence[str]:
        product = self._product(place)
        content = {
            "description": [line(product.description)],
            "features": [f"- {line(bullet)}" for bullet in product.bullets],
            "reviews": [f"- {line(review)}" for review in product.reviews],
            "attributes": [
                *(f"- {line(attribute)}" for attribute in product.attributes),
                f"category: {line(product.category)}",
                f"found by: {line(product.query)}",
                f"kind: {line(product.path)}",
            ],
        }[place.page]
        lines = list(filter(None, content)) or ["There are none."]
        return [f"The {place.page} page of {self._heading(place)}", f"[{BACK}] [{PREV}]", *lines]

    def _product(self, place: ShopState) -> Product:
        return self._shop.products[place.product]

    def _heading(self, place: ShopState) -> str:
        return f"{place.product}: {line(self._product(place).title)}"

    def _purchase(self, place: ShopState) -> str:
        chosen = f" with {_selected(place)}" if place.chosen else ""
        return f"{self._heading(place)}{chosen}, for {price_text(self._product(place).price_of(place.chosen))}"


def _selected(place: ShopState) -> str:
    return ", ".join(f"{line(name)} = {line(value)}" for name, value in place.chosen.items())


def _price(product: Product, chosen: Mapping[str, str]) -> str:
    least, most = product.price_range(chosen)
    return price_text(least) if least == most else f"{price_text(least)} to {price_text(most)}"
