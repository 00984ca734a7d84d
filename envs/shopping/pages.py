"""The pages of the shop as text, and their buttons.

Buttons are in square brackets. In the texts of products, square brackets are replaced with round ones, and line ends
with spaces, so that no product can forge a button.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from planbook.envs.shopping.catalogue import Product, Shop, format_price

SEARCH, RESULTS, ITEM, DONE = "search", "results", "item", "done"
SUB_PAGES = {"Description": "description", "Features": "features", "Reviews": "reviews", "Attributes": "attributes"}
"""Maps a button of a product's page to the page that it opens."""
NEXT, PREV, BACK, BUY = "Next >", "< Prev", "Back to Search", "Buy Now"
_BUTTONS = frozenset(button.lower() for button in (PREV, BACK, BUY, *SUB_PAGES))
"""The labels of the buttons of a product's page in lower case, without those of its options."""


@dataclass(frozen=True)
class ShopState:
    """The state of an episode: the page that the customer sees, and what was searched and chosen."""

    page: str = SEARCH
    keywords: str = ""
    """The words of the last search."""
    results: tuple[str, ...] = ()
    """The ids of the products that the search found."""
    number: int = 1
    """The number of the current page of results, from 1."""
    product: str = ""
    """The id of the current product, if there is one."""
    chosen: Mapping[str, str] = field(default_factory=dict)
    """Maps the name of an option to the chosen value."""


@lru_cache(maxsize=20_000)
def clean(text: str) -> str:
    """Return a text of a product as pages show it: on one line and without square brackets."""
    shown = " ".join(text.split()).replace("[", "(").replace("]", ")")
    return shown if shown.isprintable() else "".join(filter(str.isprintable, shown))


class ShopPages:
    """The text and the buttons of each page."""

    def __init__(self, shop: Shop, results_per_page: int) -> None:
        self._shop, self._results_per_page = shop, results_per_page

    def ids_on_page(self, state: ShopState) -> tuple[str, ...]:
        """Return the ids of the products that a page of results shows."""
        return state.results[(state.number - 1) * self._results_per_page : state.number * self._results_per_page]

    def buttons(self, state: ShopState) -> list[str]:
        """Return the labels that can be clicked, in the order of the page."""
        if state.page == RESULTS:
            return [*self._navigation(state), *self.ids_on_page(state)]
        if state.page == ITEM:
            values = [value for values in self.options(state).values() for value in values]
            return list(dict.fromkeys([BACK, PREV, *values, *SUB_PAGES, BUY]))
        return [BACK, PREV] if state.page in SUB_PAGES.values() else []

    def options(self, state: ShopState) -> dict[str, list[str]]:
        """Return a dict that maps the current product's options to their values, or {} on other pages.

        A value that has the same label as one of the shop's buttons is left out, since a click would mean that button.
        """
        if state.page != ITEM:
            return {}
        options = self._product(state).options
        shown = {clean(name): [clean(value) for value in values] for name, values in options.items()}
        return {name: [value for value in values if value.lower() not in _BUTTONS] for name, values in shown.items()}

    def text(self, state: ShopState) -> str:
        """Return the page as text."""
        if state.page == SEARCH:
            return "The search page. There is a search box here, and nothing to click."
        if state.page == RESULTS:
            return "\n".join(self._results(state))
        if state.page == ITEM:
            return "\n".join(self._item(state))
        if state.page == DONE:
            return f"You have bought {self._purchase(state)}. The shopping is over."
        return "\n".join(self._sub_page(state))

    def summary(self, state: ShopState) -> str:
        """Return a sentence that says on which page the customer is."""
        if state.page == RESULTS:
            return f"You are on page {state.number} of the results for '{clean(state.keywords)}'."
        if state.page == SEARCH:
            return "You are on the search page."
        if state.page == DONE:
            return f"You have bought {self._purchase(state)}."
        selected = f"; selected: {_format_selection(state)}" if state.chosen else ""
        return f"You are on the {state.page} page of {self._heading(state)}{selected}."

    def _navigation(self, state: ShopState) -> list[str]:
        more = state.number * self._results_per_page < len(state.results)
        return [BACK, *([PREV] if state.number > 1 else []), *([NEXT] if more else [])]

    def _results(self, state: ShopState) -> Sequence[str]:
        ids, first = self.ids_on_page(state), (state.number - 1) * self._results_per_page + 1
        content = f"{first} to {first + len(ids) - 1} of {len(state.results)}" if ids else "none"
        products = [self._shop.products[id] for id in ids]
        lines = [f"[{product.id}] {clean(product.title)}, {_format_price_range(product, {})}" for product in products]
        buttons = " ".join(f"[{button}]" for button in self._navigation(state))
        return [f"Results for '{clean(state.keywords)}': {content}", buttons, *lines]

    def _item(self, state: ShopState) -> Sequence[str]:
        product, buttons = self._product(state), " ".join(f"[{button}]" for button in SUB_PAGES)
        options = [f"{name}: {' '.join(f'[{v}]' for v in values)}" for name, values in self.options(state).items()]
        return [
            f"The page of {self._heading(state)}",
            f"[{BACK}] [{PREV}]",
            f"Price: {_format_price_range(product, state.chosen)}",
            f"Rating: {clean(product.rating)}",
            *options,
            f"Selected: {_format_selection(state) or 'nothing'}",
            f"{buttons} [{BUY}]",
        ]

    def _sub_page(self, state: ShopState) -> Sequence[str]:
        product = self._product(state)
        content = {
            "description": [clean(product.description)],
            "features": [f"- {clean(bullet)}" for bullet in product.bullets],
            "reviews": [f"- {clean(review)}" for review in product.reviews],
            "attributes": [
                *(f"- {clean(attribute)}" for attribute in product.attributes),
                f"category: {clean(product.category)}",
                f"found by: {clean(product.query)}",
                f"kind: {clean(product.path)}",
            ],
        }[state.page]
        lines = list(filter(None, content)) or ["There are none."]
        return [f"The {state.page} page of {self._heading(state)}", f"[{BACK}] [{PREV}]", *lines]

    def _product(self, state: ShopState) -> Product:
        return self._shop.products[state.product]

    def _heading(self, state: ShopState) -> str:
        return f"{state.product}: {clean(self._product(state).title)}"

    def _purchase(self, state: ShopState) -> str:
        chosen = f" with {_format_selection(state)}" if state.chosen else ""
        return f"{self._heading(state)}{chosen}, for {format_price(self._product(state).price_of(state.chosen))}"


def _format_selection(state: ShopState) -> str:
    return ", ".join(f"{clean(name)} = {clean(value)}" for name, value in state.chosen.items())


def _format_price_range(product: Product, chosen: Mapping[str, str]) -> str:
    least, most = product.price_range(chosen)
    return format_price(least) if least == most else f"{format_price(least)} to {format_price(most)}"
