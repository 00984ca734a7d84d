"""A shop on the web, by the rules of WebShop, the shopping world of the papers of ADaPT and AgentKit."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar

from pydantic import BaseModel, JsonValue

from planbook.envs.base import Environment, action, query
from planbook.envs.checksums import of_files
from planbook.envs.shopping import selecting
from planbook.envs.shopping.catalogue import KINDS, own_digest
from planbook.envs.shopping.files import digest_of
from planbook.envs.shopping.options import ShoppingOptions
from planbook.envs.shopping.pages import (
    BACK,
    BUY,
    DONE,
    ITEM,
    NEXT,
    PREV,
    RESULTS,
    SEARCH,
    SUB_PAGES,
    Pages,
    Place,
    line,
)
from planbook.envs.shopping.reward import reward
from planbook.envs.shopping.wares import Shop, Wish
from planbook.envs.types import Action, Observation, Selection, Task, Verdict


class Shopping(Environment):
    """One product to find and buy. A task's id is its split and the goal's number (``test/17``), its type the category.

    The goals of our own catalogue, shuffled as WebShop's are: "test" the first 100, "full" the first 500, "dev" the
    40 after those, "example" six more, which demonstrations play. ``task.params`` has ``price_below`` where the goal
    says so.

    Pages, buttons and reward are WebShop's. What is ours: one box of search, on the search page only; options that
    cost more, where WebShop has one price a product; search by our BM25 and ``r_type`` without a tagger (see
    ``reward.py``). Product files of WebShop's format play by its own prices.
    """

    name = "shopping"
    about = (
        "A shop on the web: the agent searches by words, looks at products, and buys the one that the task "
        "describes: of that kind, with those attributes and options, below that price. Every action returns the "
        "page that it leads to; what can be clicked stands in square brackets, and the search box is on the "
        "search page only. A search gives up to 50 products, page by page; a product's own page has its options, "
        "which are chosen by clicking their values, and leads to its description, features, reviews and "
        "attributes. A price range means that the price depends on the options; what is not chosen comes as it is "
        "listed first. An action that cannot be done changes nothing, and its observation begins with 'Nothing "
        "happens: '; buying ends the episode."
    )
    types = selecting.TYPES
    splits = tuple(selecting.SPLITS)
    action_limit = 250
    """Enough to look at each of a search's results, options and attributes."""
    hands_on = "note"
    naive = """agent.search(task.goal)
agent.click(agent.results()[0]["id"])
agent.click("Buy Now")
"""
    attributes: ClassVar[Mapping[str, str]] = {
        "page": "the page at hand: 'search', 'results', 'item', 'description', 'features', 'reviews', 'attributes' or "
        "'done'",
        "selected": "the options chosen on the product at hand: name to value",
    }
    Options = ShoppingOptions

    def __init__(self, options: BaseModel | None = None) -> None:
        super().__init__(options)
        self._options = ShoppingOptions.read(options)
        self._place = Place()
        self._wish: Wish | None = None

    # What there is to do.

    @classmethod
    def tasks(cls, selection: Selection, options: BaseModel | None = None) -> Sequence[Task]:
        """The chosen tasks, taken in turn from each type."""
        return selecting.select(selection, ShoppingOptions.read(options))

    @classmethod
    def checksums(cls, tasks: Sequence[Task], options: BaseModel | None = None) -> Mapping[str, str]:
        """The files of products, or what our own catalogue is made from."""
        given = ShoppingOptions.read(options)
        named = [Path(name) for name in (given.items, given.attributes, given.goals) if name]
        return {"products": of_files(named or [KINDS])}

    def versions(self) -> Mapping[str, str]:
        """What search and reward are computed with, and which products these are."""
        named = self._options.items, self._options.attributes, self._options.goals
        products = digest_of(*named) if self._options.items else own_digest()
        return {"products": products}

    # One episode.

    def begin(self, task: Task) -> Observation:
        """Start on the search page."""
        self._wish = selecting.wish_of(task, self._options)
        self._place = Place()
        return Observation(f"{self.scene()}\n\nGoal: {task.goal}")

    def scene(self) -> str:
        """The page at hand."""
        return self._pages.text(self._place)

    def state(self) -> str:
        """Where the agent is."""
        return self._pages.summary(self._place)

    def brief(self, observation: Observation, before: Observation) -> str:
        """The first line of a page."""
        return observation.text.partition("\n")[0]

    def verdict(self) -> Verdict:
        """Solved when what was bought earns the whole reward; the score is the reward."""
        earned = self._reward()
        return Verdict(earned == 1.0, earned)

    def measures(self) -> Mapping[str, float]:
        """The reward."""
        return {"reward": self._reward()}

    def attribute_values(self) -> Mapping[str, JsonValue]:
        """The page, and the options chosen on it."""
        chosen: dict[str, JsonValue] = {line(name): line(value) for name, value in self._place.chosen.items()}
        return {"page": self._place.page, "selected": chosen}

    def possible_actions(self) -> list[Action]:
        """Every click; on the search page, searching for the goal's own words."""
        if self._place.page == SEARCH and self._wish is not None:
            return [Action("search", (self._wish.sentence,))]
        return [Action("click", (button,)) for button in self._pages.buttons(self._place)]

    # The actions.

    @action("agent.search('paraben free body lotion') -> \"Results for 'paraben free body lotion': 1 to 10 of 50 ...\"")
    def search(self, keywords: str) -> Observation:
        """Search for products by words, from the search page."""
        if self._place.page != SEARCH:
            return self._refused(f"there is no search box on this page; click '{BACK}' first")
        if not keywords.strip():
            return self._refused("name what to search for")
        named = self._options.items, self._options.attributes, self._options.goals
        return self._go(Place(RESULTS, keywords, selecting.search(*named).results(keywords)))

    @action("agent.click('Next >') -> \"Results for 'paraben free body lotion': 11 to 20 of 50 ...\"")
    def click(self, target: str) -> Observation:
        """Click a button, a product's id or an option's value, by the text in its square brackets."""
        wanted = line(target.strip().removeprefix("[").removesuffix("]")).lower()
        for button in self._pages.buttons(self._place):
            if button.lower() == wanted:
                return self._clicked(button)
        told = ", ".join(f"[{button}]" for button in self._pages.buttons(self._place)) or "nothing; search first"
        return self._refused(f"there is no [{line(target)}] on this page; what can be clicked: {told}")

    @query("agent.clickable() -> ['Back to Search', 'Next >', 'B07XQ2M4TD', ...]")
    def clickable(self) -> list[str]:
        """What can be clicked on the page at hand."""
        return self._pages.buttons(self._place)

    @query("agent.results() -> [{'id': 'B07XQ2M4TD', 'title': 'Fenmere Grove Body Lotion', 'price': [9.5, 12.0]}, ...]")
    def results(self) -> list[JsonValue]:
        """The products on a page of results, with the least and the most that each may cost; elsewhere none."""
        if self._place.page != RESULTS:
            return []
        shown = [self._shop.products[each] for each in self._pages.on_page(self._place)]
        return [{"id": each.id, "title": line(each.title), "price": list(each.price_range({}))} for each in shown]

    @query("agent.choices() -> {'scent': ['vanilla', 'citrus'], 'size': ['4 ounce', '8 ounce']}")
    def choices(self) -> dict[str, list[str]]:
        """The options of the product whose own page is at hand: name to values; elsewhere none."""
        return self._pages.options(self._place)

    @query("agent.price() -> [9.5, 12.0]")
    def price(self) -> list[float]:
        """The least and the most that the product whose own page is at hand may cost with what is selected."""
        place = self._place
        return list(self._shop.products[place.product].price_range(place.chosen)) if place.page == ITEM else []

    def _clicked(self, button: str) -> Observation:
        place = self._place
        if button in place.results and place.page == RESULTS:
            return self._go(replace(place, page=ITEM, product=button, chosen={}))
        if button == BACK:
            return self._go(Place())
        if button in (NEXT, PREV) and place.page == RESULTS:
            return self._go(replace(place, number=place.number + (1 if button == NEXT else -1)))
        if button == PREV and place.page == ITEM:
            return self._go(replace(place, page=RESULTS, product="", chosen={}))
        if button == PREV:
            return self._go(replace(place, page=ITEM))
        if button in SUB_PAGES:
            return self._go(replace(place, page=SUB_PAGES[button]))
        return self._go(replace(place, page=DONE)) if button == BUY else self._select(button)

    def _select(self, value: str) -> Observation:
        """Choose an option; a value that several options have is the last one's, as in WebShop."""
        options = self._shop.products[self._place.product].options
        name, real = [(name, real) for name, values in options.items() for real in values if line(real) == value][-1]
        return self._go(replace(self._place, chosen={**self._place.chosen, name: real}))

    def _go(self, place: Place) -> Observation:
        self._place = place
        return Observation(self._pages.text(place), terminated=place.page == DONE)

    @staticmethod
    def _refused(why: str) -> Observation:
        return Observation(f"Nothing happens: {why}.", accepted=False)

    @property
    def _shop(self) -> Shop:
        return selecting.shop(self._options)

    @property
    def _pages(self) -> Pages:
        return Pages(self._shop, self._options.results_per_page)

    def _reward(self) -> float:
        place, products = self._place, self._shop.products
        if place.page != DONE or self._wish is None:
            return 0.0
        return reward(products[place.product], place.chosen, self._wish, products[self._wish.product]).total

    def _save(self) -> object:
        return self._place

    def _load(self, native: object) -> None:
        assert isinstance(native, Place)
        self._place = native
