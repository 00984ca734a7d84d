"""One episode's browsing: the tabs, what they show, and what is told of it."""

from collections.abc import Callable

from pydantic import JsonValue

from planbook.envs.types import Observation
from planbook.envs.web.addresses import BLANK, Names
from planbook.envs.web.context import Context, TabGone
from planbook.envs.web.hearing import Target
from planbook.envs.web.nodes import Node
from planbook.envs.web.numbers import Numbers, Place
from planbook.envs.web.reading import Page, read
from planbook.envs.web.tab import Tab
from planbook.envs.web.tabs import Saved, Tabs
from planbook.envs.web.telling import ADDRESS, TABS, TITLE, described, told
from planbook.envs.web.writing import quoted

REFUSED = "Nothing happens: "
Move = Callable[[Tab], str]
"""Something done in a tab: why it was not done, or nothing."""


class Visit(Tabs):
    """The tabs of an episode, and what was seen in them."""

    def __init__(self, context: Context, first: Target, names: Names, characters: int) -> None:
        """``first`` is the tab to begin in; of a page so many ``characters`` are told at most."""
        super().__init__(context, first)
        self.names, self._characters = names, characters
        self.page: Page | None = None
        self.base = ""
        """The address last seen that is one of a site."""
        self._numbers = Numbers()

    @property
    def url(self) -> str:
        """The address of the current tab."""
        return self.page.url if self.page else ""

    # Doing.

    def do(self, move: Move) -> Observation:
        """Do something in the current tab, wait for what comes of it, and look."""
        tab, document = self.tab, self.tab.target.traffic.document
        tab.target.traffic.forget()  # what was waited for in vain before is not waited for again
        try:
            refusal = move(tab) or self.context.rest(tab.target, document)
        except TabGone as gone:
            refusal = ""
            self.mourn(tab, str(gone), self.page)
        self.take_popups()
        self.forget_closed()
        stayed = tab is self.tab and tab.target.traffic.document == document
        return self._look(refusal, stayed)

    def load(self, saved: Saved) -> Observation:
        """Load the pages of a moment again, as they are now, and look."""
        self.bring_back(saved)
        return self.do(lambda _: "")

    # Elements.

    def number(self, node: Node) -> int:
        """The number of a node of the current page."""
        assert self.page is not None
        return self._numbers.of(self.page, node, self._open_elsewhere)

    def place(self, number: int) -> Place | str:
        """Where the element of that number is, or why there is none."""
        place = self._numbers.place(number)
        if place is None:
            return f"there is no element [{number}]"
        if place.document == self.tab.target.traffic.document:
            return place
        where = "in another tab" if self._open_elsewhere(place.document) else "on a page that was left"
        return f"the element [{number}] is {where}"

    def name(self, number: int, place: Place) -> str:
        """``[3] button 'Ok'``: the element as it was seen last."""
        node = self.page.by_backend.get(place.backend) if self.page else None
        return f"[{number}] {node.role} {quoted(node.text(), 80)}" if node else f"[{number}]"

    def find(self, role: str, name: str) -> list[JsonValue]:
        """The elements of the whole page with that role and in whose name that text occurs, both in small letters."""
        nodes = list(self.page.root.walk())[1:] if self.page else []
        found = [node for node in nodes if role in ("", node.role) and name in node.text().lower()]
        return [self.names.shorter(described(node, self.number(node))) for node in found]

    def _open_elsewhere(self, document: str) -> bool:
        return any(tab.target.traffic.document == document for tab in self.tabs if tab is not self.tab)

    # Telling.

    def again(self) -> Observation:
        """What was seen last."""
        return Observation(self.names.short(self._page(self.page)) if self.page else "")

    def _look(self, refusal: str, stayed: bool) -> Observation:
        try:
            page = read(self.context, self.tab.target)
        except TabGone as gone:
            self.mourn(self.tab, str(gone), self.page)
            self.forget_closed()
            page = read(self.context, self.tab.target)
        self.page = page
        self.base = page.url if page.url != BLANK else self.base
        news = self.context.news.taken()
        if news.refused and stayed and not refusal:
            refusal = news.refused.pop(0)
        lines = [f"{REFUSED}{refusal}."] if refusal else []
        text = "\n".join([*lines, *(f"{each}." for each in news.refused), *news.lines(), self._page(page)])
        return Observation(self.names.short(text), accepted=not refusal, lasting=self.lasting())

    def _page(self, page: Page) -> str:
        head = [f"{ADDRESS}{quoted(page.url, 500)[1:-1]}", f"{TITLE}{quoted(page.title)}"]
        if len(self.tabs) > 1:
            listed = [
                f"{number} (current)" if tab is self.tab else str(number) for number, tab in enumerate(self.tabs, 1)
            ]
            head.insert(0, f"{TABS}{', '.join(listed)}")
        return "\n".join([*head, told(page, self.number, self._characters)])
