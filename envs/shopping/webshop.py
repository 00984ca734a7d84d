"""WebShop's pages as text, its search and its reward.

They follow section 3.2 of the WebShop paper. Where the paper and WebShop's code differ, they follow the code.

Buttons are in square brackets. In the texts of products, square brackets are replaced with round ones, and line
breaks are replaced with spaces, so that no product can forge a button.

The search is BM25 over the text that WebShop indexes: title, description, first bullet and options. WebShop uses
Lucene. Here, words are normalised in a simpler way: they are turned into lower case, and a plural loses its final s.

The reward of a purchase is:

    r_type * (attributes matched + options matched + price within the limit) / (attributes + options + 1)

It differs from the original in one respect. Its factor ``r_type`` compares the nouns in two titles, and WebShop
finds the nouns with spaCy's large English model. Here, every word of a title counts as a noun, unless NOT_NOUNS lists
it. The result is similar: since nearly every word of a title begins with a capital letter, like a name, the model takes
most words for nouns, too. Two products are of the same kind if they have the same query, or if two steps of their
paths are the same. For such products, ``r_type`` is 1 if the title of the bought product has at least a tenth of the
nouns in the other title.
"""

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from heapq import nsmallest

from planbook.envs.shopping.catalogue import Product, Shop, Wish, format_price
from planbook.envs.text_matching import BM25, token_set_ratio

SEARCH, RESULTS, ITEM, DONE = "search", "results", "item", "done"
SUB_PAGES = {"Description": "description", "Features": "features", "Reviews": "reviews", "Attributes": "attributes"}
"""Maps a button on a product's page to the page that the button opens."""
NEXT, PREV, BACK, BUY = "Next >", "< Prev", "Back to Search", "Buy Now"
_BUTTONS = frozenset(button.lower() for button in (PREV, BACK, BUY, *SUB_PAGES))
"""The labels, in lower case, of all buttons on a product's page other than the values of options."""


@dataclass(frozen=True)
class ShopState:
    """The state of an episode: the current page, the last search, and the options that were chosen."""

    page: str = SEARCH
    keywords: str = ""
    """The words of the last search."""
    results: tuple[str, ...] = ()
    """The ids of the products that the last search found."""
    page_number: int = 1
    """The number of the current page of results, counted from 1."""
    product: str = ""
    """The id of the current product, or ""."""
    chosen: Mapping[str, str] = field(default_factory=dict)
    """Maps the name of an option to the chosen value."""


@lru_cache(maxsize=20_000)
def clean(text: str) -> str:
    """Return a product's text as pages show it: on one line, and with round brackets in place of square brackets."""
    shown = " ".join(text.split()).replace("[", "(").replace("]", ")")
    return shown if shown.isprintable() else "".join(filter(str.isprintable, shown))


class ShopPages:
    """The text and the buttons of each page of a shop."""

    def __init__(self, shop: Shop, results_per_page: int) -> None:
        self._shop, self._results_per_page = shop, results_per_page

    def ids_on_page(self, state: ShopState) -> tuple[str, ...]:
        """Return the ids of the products on the current page of results."""
        first = (state.page_number - 1) * self._results_per_page
        return state.results[first : first + self._results_per_page]

    def buttons(self, state: ShopState) -> list[str]:
        """Return the labels that can be clicked on the current page, in the order of the page."""
        if state.page == RESULTS:
            return [*self._navigation(state), *self.ids_on_page(state)]
        if state.page == ITEM:
            values = [value for values in self.options(state).values() for value in values]
            return list(dict.fromkeys([BACK, PREV, *values, *SUB_PAGES, BUY]))
        return [BACK, PREV] if state.page in SUB_PAGES.values() else []

    def options(self, state: ShopState) -> dict[str, list[str]]:
        """Return a dict from option to values if the current page is a product's own page. Otherwise return {}.

        A value with the label of another kind of button is left out, since a click would press that other button.
        """
        if state.page != ITEM:
            return {}
        options = self._product(state).options
        shown = {clean(name): [clean(value) for value in values] for name, values in options.items()}
        return {name: [value for value in values if value.lower() not in _BUTTONS] for name, values in shown.items()}

    def text(self, state: ShopState) -> str:
        """Return the current page as text."""
        if state.page == SEARCH:
            return "The search page. There is a search box here, and nothing to click."
        if state.page == RESULTS:
            return "\n".join(self._results_page(state))
        if state.page == ITEM:
            return "\n".join(self._product_page(state))
        if state.page == DONE:
            return f"You have bought {self._purchase(state)}. The shopping is over."
        return "\n".join(self._sub_page(state))

    def summary(self, state: ShopState) -> str:
        """Return a sentence that names the current page."""
        if state.page == RESULTS:
            return f"You are on page {state.page_number} of the results for '{clean(state.keywords)}'."
        if state.page == SEARCH:
            return "You are on the search page."
        if state.page == DONE:
            return f"You have bought {self._purchase(state)}."
        selected = f"; selected: {_format_selection(state)}" if state.chosen else ""
        return f"You are on the {state.page} page of {self._heading(state)}{selected}."

    def _navigation(self, state: ShopState) -> list[str]:
        has_next = state.page_number * self._results_per_page < len(state.results)
        return [BACK, *([PREV] if state.page_number > 1 else []), *([NEXT] if has_next else [])]

    def _results_page(self, state: ShopState) -> Sequence[str]:
        ids, first = self.ids_on_page(state), (state.page_number - 1) * self._results_per_page + 1
        content = f"{first} to {first + len(ids) - 1} of {len(state.results)}" if ids else "none"
        products = [self._shop.products[id] for id in ids]
        lines = [f"[{product.id}] {clean(product.title)}, {_format_price_range(product, {})}" for product in products]
        buttons = " ".join(f"[{button}]" for button in self._navigation(state))
        return [f"Results for '{clean(state.keywords)}': {content}", buttons, *lines]

    def _product_page(self, state: ShopState) -> Sequence[str]:
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


MAX_RESULTS = 50
"""Maximum number of results of a search."""
_WORD = re.compile(r"[a-z0-9]+(?:\.[0-9]+)?")
_STOP = frozenset("a an and are as at be but by for if in into is it no not of on or such that the their then".split())
_SCORE_DECIMALS = 6
"""Number of decimal places to which scores are rounded. Products with equal rounded scores keep their order."""


def words(text: str) -> list[str]:
    """Return the words of a text for the search, without stop words and without the final s of plurals."""
    found = (word for word in _WORD.findall(text.lower()) if word not in _STOP)
    return [word[:-1] if len(word) > 3 and word.endswith("s") and not word.endswith("ss") else word for word in found]


def indexed_text(product: Product) -> str:
    """Return the text of a product that the search index contains."""
    options = ", ".join(f"{name}: {', '.join(values)}" for name, values in product.options.items())
    return " ".join([product.title, product.description, *product.bullets[:1], options])


class ProductSearch:
    """A search index of products."""

    def __init__(self, products: Sequence[Product]) -> None:
        self._ids = [product.id for product in products]
        self._index = BM25([words(indexed_text(product)) for product in products])

    def results(self, keywords: str) -> tuple[str, ...]:
        """Return the ids of up to MAX_RESULTS products that contain a word of ``keywords``, best matches first."""
        scores = self._index.scores(sorted(set(words(keywords))))
        ranks = ((-round(score, _SCORE_DECIMALS), index) for index, score in enumerate(scores) if score > 0)
        return tuple(self._ids[index] for _, index in nsmallest(MAX_RESULTS, ranks))


MATCH_THRESHOLD = 85
"""Two texts match if their token set ratio, a similarity from 0 to 100, is above this value."""
COLORS = tuple(
    "alabaster apricot aqua ash asphalt azure banana beige black blue blush bordeaux bronze brown burgundy camel camo "
    "caramel champagne charcoal cheetah chestnut chocolate christmas coffee cognac copper coral cranberry cream "
    "crystal dark denim eggplant elephant espresso fuchsia gold granite grape graphite grass gray green grey heather "
    "indigo ivory ivy khaki lavender lemon leopard light lilac lime magenta maroon mauve merlot midnight mint mocha "
    "multicolor mushroom mustard natural navy nude olive orange peach pewter pink plum purple rainbow red rose royal "
    "rust sand sapphire seashell silver skull slate steel stone stonewash sunflower tan taupe teal tiger turquoise "
    "violet walnut wheat white wine yellow".split()
)
"""Names of colours. A value that contains one or more of these names counts as the first of them in this list."""
NOT_NOUNS = frozenset(
    "a about above after all also an and any anti are as at be best better big both by can classic compatible cordless "
    "custom cute deep double dual durable each easy eco elegant extra fast fine for free fresh friendly from full good "
    "great heavy high hot if in indoor into is it its large long loose low lightweight many medium mini modern more "
    "most multi natural new no non not of off old on only or organic our out outdoor over per perfect portable premium "
    "pure quick real rechargeable safe set short single slim small smart soft solid strong super that the their these "
    "thick thin this to top ultra under up use very vintage warm waterproof wide wireless with without you your".split()
)
"""Words in titles that are not nouns: function words, and the most common adjectives and adverbs."""
_TITLE_WORD = re.compile(r"[^\W\d_]+(?:['’-][^\W\d_]+)*")


def reward(product: Product, chosen: Mapping[str, str], wish: Wish, target: Product) -> float:
    """Return the reward, from 0 to 1, for buying ``product`` with the options ``chosen``.

    ``target`` is the product for which the wish was written.
    """
    attributes = sum(has_attribute(product, attribute) for attribute in wish.attributes)
    options = count_option_hits(chosen.values(), wish.values)
    price = wish.price_below is None or product.price_of(chosen) <= wish.price_below
    hits, criteria = attributes + options + price, len(wish.attributes) + len(wish.values) + 1
    return kind_factor(product, target) * hits / criteria


def kind_factor(product: Product, target: Product) -> float:
    """Return ``r_type``, a factor of 0, 0.1, 0.5 or 1 that depends on the products' kinds and titles."""
    score = title_score(product.title, target.title)
    if score == 0.0:
        return 0.0
    if score < 0.1:
        return 0.1
    same_path = len(_steps(product.path) & _steps(target.path)) >= 2
    return 1.0 if product.query == target.query or same_path or score > 0.2 else 0.5


def title_score(title: str, target: str) -> float:
    """Return the fraction of the nouns in ``target`` that ``title`` contains, or 0.2 if ``target`` has no nouns."""
    nouns = _nouns(target)
    return len(set(nouns) & set(_nouns(title))) / len(nouns) if nouns else 0.2


def has_attribute(product: Product, attribute: str) -> bool:
    """Return True if the product has the attribute or a similar attribute, or if one of its texts contains it."""
    if any(_texts_match(existing, attribute) for existing in product.attributes):
        return True
    texts = (product.title, " ".join(product.bullets), product.description)
    return any(attribute in text.lower() for text in texts)


def count_option_hits(chosen: Iterable[str], expected: Collection[str]) -> int:
    """Return how many of the expected values equal or resemble a chosen value of any option."""
    texts = [_color_or_value(value) for value in chosen]
    return sum(any(_texts_match(text, _color_or_value(value)) for text in texts) for value in expected)


def _texts_match(text: str, expected: str) -> bool:
    return token_set_ratio(text, expected) > MATCH_THRESHOLD


def _color_or_value(value: str) -> str:
    return next((color for color in COLORS if color in value), value)


def _nouns(title: str) -> list[str]:
    return [word for word in _TITLE_WORD.findall(title.lower()) if word not in NOT_NOUNS]


def _steps(path: str) -> set[str]:
    return {step.strip() for step in path.split("›")}
