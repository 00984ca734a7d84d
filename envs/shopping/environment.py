"""A web shop with the rules of WebShop, the shopping environment of the ADaPT and AgentKit papers."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any, ClassVar, Literal

from pydantic import BaseModel, Field, JsonValue, model_validator

from planbook.envs.base import Environment, action, query
from planbook.envs.errors import BadSelection
from planbook.envs.requirements import files_digest
from planbook.envs.selection import chosen_split, interleave
from planbook.envs.shopping import webshop
from planbook.envs.shopping.catalogue import KINDS, Shop, Wish, generated_shop, load_shop
from planbook.envs.shopping.webshop import ProductSearch, ShopPages, ShopState, clean, reward
from planbook.envs.types import Action, EnvironmentOptions, Observation, Selection, Task, Verdict


class ShoppingOptions(EnvironmentOptions):
    """Options of the shop, recorded with every result."""

    results_per_page: Literal[3, 10] = Field(default=10, description="Number of products on a page of results.")
    items: str = Field(default="", description="A file of products in WebShop's format that replaces our catalogue.")
    attributes: str = Field(default="", description="With items: a file with the products' attributes.")
    goals: str = Field(default="", description="With items: a file with the goals: people's wishes for products.")

    @model_validator(mode="after")
    def _need_items(self) -> "ShoppingOptions":
        if (self.attributes or self.goals) and not self.items:
            raise ValueError("attributes and goals describe a file of products: name this file, too, with items=FILE")
        return self


SPLITS = {"test": (0, 100), "dev": (500, 540), "full": (0, 500), "example": (540, 546)}
"""The range of wishes in each split. ADaPT and AgentKit used the first 100 of the 500 wishes in the split "full"."""
TYPES = ("beauty", "garden", "grocery", "electronics", "fashion")


def get_shop(options: ShoppingOptions) -> Shop:
    """Return the shop that the options define. Raises BadSelection if one of the shop's files is unusable."""
    return load_shop(options.items, options.attributes, options.goals) if options.items else generated_shop()


@cache
def search_index(items: str, attributes: str, goals: str) -> ProductSearch:
    """Return the search index of a shop. It is built once per process. For our own shop, this takes 0.2 s."""
    options = ShoppingOptions(items=items, attributes=attributes, goals=goals)
    return ProductSearch(list(get_shop(options).products.values()))


def _tasks(split: str, shop: Shop) -> Sequence[Task]:
    begin, end = SPLITS[split]
    return [_task(split, number, shop) for number in range(begin, min(end, len(shop.wishes)))]


def _task(split: str, number: int, shop: Shop) -> Task:
    """Return the task for a wish, without the product and the criteria, which only the judge may know."""
    wish = shop.wishes[number]
    return Task(
        id=f"{split}/{number}",
        env="shopping",
        split=split,
        type=shop.products[wish.product].category,
        goal=wish.sentence,
        params={} if wish.price_below is None else {"price_below": wish.price_below},
        seed=number,
    )


class Shopping(Environment):
    """A shop in which the agent finds and buys one product.

    The id of a task consists of its split and the number of its wish, such as ``test/17``. Its type is the category of
    the product. ``task.params`` has ``price_below`` if the wish has a price limit. The wishes of our catalogue are
    shuffled like WebShop's goals: "test" has the first 100, "full" the first 500, "dev" the next 40, and "example" the
    next six, which demonstrations solve.

    Pages, buttons and reward are WebShop's, with some differences. Only the search page has a search box. Options may
    cost extra, while in WebShop (and in product files in its format) each product has one price. The search uses our
    BM25, and the factor ``r_type`` of the reward uses no part-of-speech tagger (see ``webshop.py``).
    """

    name = "shopping"
    about = (
        "A web shop. The agent searches by words, looks at products, and buys the one that the task describes: a "
        "product of that kind, with those attributes and options, below that price. Every action returns the page "
        "that it leads to. What can be clicked is in square brackets, and only the search page has a search box. A "
        "search finds up to 50 products, shown page by page. A product's own page has its options, which are chosen "
        "by clicking their values, and links to its description, features, reviews and attributes. A price range "
        "means that the price depends on the options; an option that is not chosen is priced at its first value. An "
        "action that is not possible changes nothing, and its observation begins with 'Nothing happens: '. Buying "
        "ends the episode."
    )
    types = TYPES
    splits = tuple(SPLITS)
    action_limit = 250
    """Enough to look at every result of a search, with its options and attributes."""
    handoff = "note"
    submits = True
    naive = """agent.search(task.goal)
agent.click(agent.results()[0]["id"])
agent.click("Buy Now")
"""
    attributes: ClassVar[Mapping[str, str]] = {
        "page": "the current page: 'search', 'results', 'item', 'description', 'features', 'reviews', 'attributes' or "
        "'done'",
        "selected": "a dict that maps each option chosen for the current product to its value",
    }
    Options = ShoppingOptions
    options: ShoppingOptions

    def __init__(self, options: BaseModel | None = None) -> None:
        super().__init__(options)
        self._state = ShopState()
        self._wish: Wish | None = None

    # Tasks.

    @classmethod
    def tasks(cls, selection: Selection, options: BaseModel | None = None) -> Sequence[Task]:
        """Return the split's tasks, from each type in turn. If tasks are selected by id, return those of all splits."""
        shop = get_shop(ShoppingOptions.read(options))
        if selection.ids:
            return [task for split in SPLITS for task in _tasks(split, shop)]
        split = chosen_split(selection, tuple(SPLITS), "shopping")
        tasks = _tasks(split, shop)
        types = dict.fromkeys([*TYPES, *(task.type for task in tasks)])
        return list(interleave([task for task in tasks if task.type == name] for name in types))

    @classmethod
    def checksums(cls, tasks: Sequence[Task], options: BaseModel | None = None) -> Mapping[str, str]:
        """Return the digest of the product files, or of the file from which our catalogue is generated."""
        chosen = ShoppingOptions.read(options)
        files = [Path(name) for name in (chosen.items, chosen.attributes, chosen.goals) if name]
        return {"products": files_digest(files or [KINDS])}

    # Episodes.

    def begin(self, task: Task) -> Observation:
        """Open the search page, and return it with the goal."""
        wishes = self._shop.wishes
        if not 0 <= task.seed < len(wishes) or wishes[task.seed].sentence != task.goal:
            raise BadSelection(f"shopping: {task.id} is not a task of this shop; was it made with other product files?")
        self._wish = wishes[task.seed]
        self._state = ShopState()
        return Observation(f"{self.scene()}\n\nGoal: {task.goal}")

    def scene(self) -> str:
        """Return the current page."""
        return self._pages.text(self._state)

    def state(self) -> str:
        """Return a sentence that names the current page."""
        return self._pages.summary(self._state)

    def brief(self, observation: Observation, before: Observation) -> str:
        """Return the first line of the new page."""
        return observation.text.partition("\n")[0]

    def verdict(self) -> Verdict:
        """Return the verdict: solved if the purchase gets the full reward. The score is the reward."""
        score = self._reward()
        return Verdict(score == 1.0, score)

    def attribute_values(self) -> Mapping[str, JsonValue]:
        """Return the kind of the current page, and the options chosen for the product."""
        chosen: dict[str, JsonValue] = {clean(name): clean(value) for name, value in self._state.chosen.items()}
        return {"page": self._state.page, "selected": chosen}

    def possible_actions(self) -> list[Action]:
        """Return all possible clicks or, on the search page, only a search for the words of the goal."""
        if self._state.page == webshop.SEARCH and self._wish is not None:
            return [Action("search", (self._wish.sentence,))]
        return [Action("click", (button,)) for button in self._pages.buttons(self._state)]

    # Actions.

    @action("agent.search('paraben free body lotion') -> \"Results for 'paraben free body lotion': 1 to 10 of 50 ...\"")
    def search(self, keywords: str) -> Observation:
        """Search for products by words. Works only on the search page."""
        if self._state.page != webshop.SEARCH:
            return Observation.refused(f"there is no search box on this page; click '{webshop.BACK}' first")
        if not keywords.strip():
            return Observation.refused("name what to search for")
        index = search_index(self.options.items, self.options.attributes, self.options.goals)
        return self._go_to(ShopState(webshop.RESULTS, keywords, index.results(keywords)))

    @action("agent.click('Next >') -> \"Results for 'paraben free body lotion': 11 to 20 of 50 ...\"")
    def click(self, target: str) -> Observation:
        """Click a button, a product's id or an option's value, given as the text in its square brackets."""
        label = clean(target.strip().removeprefix("[").removesuffix("]")).lower()
        for button in self._pages.buttons(self._state):
            if button.lower() == label:
                return self._press(button)
        buttons = ", ".join(f"[{button}]" for button in self._pages.buttons(self._state)) or "nothing; search first"
        return Observation.refused(f"there is no [{clean(target)}] on this page; what can be clicked: {buttons}")

    @query("agent.clickable() -> ['Back to Search', 'Next >', 'B07XQ2M4TD', ...]")
    def clickable(self) -> list[str]:
        """Return the texts that can be clicked on the current page."""
        return self._pages.buttons(self._state)

    @query("agent.results() -> [{'id': 'B07XQ2M4TD', 'title': 'Fenmere Grove Body Lotion', 'price': [9.5, 12.0]}, ...]")
    def results(self) -> list[JsonValue]:
        """On a page of results, return its products, each with its lowest and highest price; otherwise, []."""
        if self._state.page != webshop.RESULTS:
            return []
        products = [self._shop.products[id] for id in self._pages.ids_on_page(self._state)]
        return [{"id": item.id, "title": clean(item.title), "price": list(item.price_range({}))} for item in products]

    @query("agent.choices() -> {'scent': ['vanilla', 'citrus'], 'size': ['4 ounce', '8 ounce']}")
    def choices(self) -> dict[str, list[str]]:
        """On a product's own page, return a dict that maps each option to its values; otherwise, {}."""
        return self._pages.options(self._state)

    @query("agent.price() -> [9.5, 12.0]")
    def price(self) -> list[float]:
        """On a product's own page, return its lowest and highest price with the selected options; otherwise, []."""
        state = self._state
        return list(self._shop.products[state.product].price_range(state.chosen)) if state.page == webshop.ITEM else []

    def _press(self, button: str) -> Observation:
        state = self._state
        if button in state.results and state.page == webshop.RESULTS:
            return self._go_to(replace(state, page=webshop.ITEM, product=button, chosen={}))
        if button == webshop.BACK:
            return self._go_to(ShopState())
        if button in (webshop.NEXT, webshop.PREV) and state.page == webshop.RESULTS:
            return self._go_to(replace(state, page_number=state.page_number + (1 if button == webshop.NEXT else -1)))
        if button == webshop.PREV and state.page == webshop.ITEM:
            return self._go_to(replace(state, page=webshop.RESULTS, product="", chosen={}))
        if button == webshop.PREV:
            return self._go_to(replace(state, page=webshop.ITEM))
        if button in webshop.SUB_PAGES:
            return self._go_to(replace(state, page=webshop.SUB_PAGES[button]))
        return self._go_to(replace(state, page=webshop.DONE)) if button == webshop.BUY else self._select(button)

    def _select(self, value: str) -> Observation:
        """Choose a value of an option. As in WebShop, if several options have it, choose it for the last of them."""
        options = self._shop.products[self._state.product].options
        name, raw_value = [(name, raw) for name, values in options.items() for raw in values if clean(raw) == value][-1]
        return self._go_to(replace(self._state, chosen={**self._state.chosen, name: raw_value}))

    def _go_to(self, state: ShopState) -> Observation:
        self._state = state
        return Observation(self._pages.text(state), terminated=state.page == webshop.DONE)

    @property
    def _shop(self) -> Shop:
        return get_shop(self.options)

    @property
    def _pages(self) -> ShopPages:
        return ShopPages(self._shop, self.options.results_per_page)

    def _reward(self) -> float:
        state, products = self._state, self._shop.products
        if state.page != webshop.DONE or self._wish is None:
            return 0.0
        return reward(products[state.product], state.chosen, self._wish, products[self._wish.product])

    def _save(self) -> object:
        return self._state

    def _load(self, saved: Any) -> None:
        self._state = saved
