"""The tabs of an episode: open, restore and replace them, act in the current one, and observe it."""

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from pydantic import JsonValue

from planbook.envs.types import Observation
from planbook.envs.web.accessibility import AccessibilityNode, quoted
from planbook.envs.web.addresses import BLANK, Names
from planbook.envs.web.context import MAX_TABS, Context, News, TabGone
from planbook.envs.web.page import ElementNumbers, ElementRef, Page, Trail, describe, observation_text, read
from planbook.envs.web.tab import WebTab


@dataclass(frozen=True)
class SavedTabs:
    """A copy of the tabs: history and scroll position of each, and the index of the current one."""

    tabs: Sequence[tuple[Trail, tuple[float, float]]]
    current: int


REFUSED = "Nothing happens: "
Move = Callable[[WebTab], str]
"""A function that acts in a tab and returns why nothing was done, or ""."""


class Browsing:
    """The tabs of an episode, in their own browser context, and the last observed page. ``current`` counts from 0."""

    def __init__(self, context: Context, names: Names, characters: int) -> None:
        """Begin with one empty tab, which is the current one. At most ``characters`` of a page are shown."""
        self.context, self.names, self._characters = context, names, characters
        self.tabs = [WebTab(context, context.open())]
        self.current = 0
        self.page: Page | None = None
        self.base = ""
        """The last observed address other than ``about:blank``."""
        self._numbers = ElementNumbers()

    @property
    def tab(self) -> WebTab:
        """The current tab."""
        return self.tabs[self.current]

    def step(self, tab: WebTab, by: int) -> str:
        """Go one page back (-1) or forward (1); return why this is not possible, or ""."""
        trail = tab.trail()
        at = trail.at + by
        if not 0 <= at < len(trail.urls):
            return f"there is no page to go {'back' if by < 0 else 'forward'} to"
        if not tab.step(by):
            self._reopen(tab, Trail(trail.urls, at))
        return ""

    def open_tab(self) -> str:
        """Open an empty tab after the others, and make it the current one; return why this is not possible, or ""."""
        if len(self.tabs) >= MAX_TABS:
            return "there are as many tabs as there can be"
        self.tabs.append(WebTab(self.context, self.context.open()))
        self.current = len(self.tabs) - 1
        return ""

    def switch(self, number: int) -> None:
        """Make another tab the current one."""
        self.current = number
        with suppress(TabGone):  # the next observation reports it
            self.context.call(self.tab.target, "Page.bringToFront")

    def close_tab(self) -> None:
        """Close the current tab; the one before it becomes the current one."""
        self.context.drop(self.tab.target)
        del self.tabs[self.current]
        self.switch(max(0, self.current - 1))

    # Restoring.

    def save(self) -> SavedTabs:
        """Return a copy of the tabs."""
        return SavedTabs([self._position(tab) for tab in self.tabs], self.current)

    @staticmethod
    def _position(tab: WebTab) -> tuple[Trail, tuple[float, float]]:
        try:
            return tab.trail(), tab.scrolled()
        except TabGone:
            return Trail([BLANK], 0), (0, 0)

    def load(self, saved: SavedTabs) -> Observation:
        """Load the pages of a copy again, in their current state, and return the observation."""
        for tab in self.tabs[len(saved.tabs) :]:
            self.context.drop(tab.target)
        del self.tabs[len(saved.tabs) :]
        while len(self.tabs) < len(saved.tabs):
            self.tabs.append(WebTab(self.context, self.context.open()))
        for tab, (trail, scroll) in zip(self.tabs, saved.tabs, strict=True):
            self._reopen(tab, trail, scroll)
        self.current = saved.current
        if len(self.tabs) > 1:
            self.switch(saved.current)
        return self.do(lambda _: "")

    def _reopen(self, tab: WebTab, trail: Trail, scroll: tuple[float, float] = (0, 0)) -> None:
        """Open the current page of a history in a new browser tab that replaces this one."""
        old, tab.target = tab.target, self.context.open()
        after = [url for url in trail.urls[trail.at + 1 :] if url != BLANK]
        tab.before, tab.after = trail.urls[: trail.at], after
        self.context.drop(old)
        try:
            why = tab.fetch(trail.urls[trail.at])
            if not why and scroll != (0, 0):
                tab.scroll_to(*scroll)
        except TabGone as gone:
            why = str(gone)
            self.context.drop(tab.target)
            tab.target = self.context.open()
        if why:
            self.context.news.add(f"{quoted(trail.urls[trail.at])} could not be loaded again: {why}.")

    # Popups and lost tabs.

    def replace_lost(self, tab: WebTab, why: str, last: Page | None) -> None:
        """Replace an unusable tab with an empty one. ``last`` is the last observed page."""
        old = tab.target
        if old.closed and len(self.tabs) > 1:
            return
        is_lost = last is None or old.traffic.document == last.document
        trail = tab.trail(last.trail) if last else Trail([], 0)
        tab.before, tab.after = trail.urls[: trail.at + (not is_lost)], []
        tab.target = self.context.open()
        if not old.closed:
            self.context.drop(old)
        self.context.news.add(f"The tab was lost and replaced by an empty one: {why}.")

    def take_popups(self) -> None:
        """Take over tabs that pages opened, if allowed; the last one becomes the current tab."""
        while self.context.popups:
            target = self.context.popups.pop(0)
            try:
                url = self.context.catch_up(target)
                why = self.context.policy.why_not(url) if url else ""
            except TabGone as gone:
                url, why = "", str(gone)
            if target.refused and url in ("", BLANK):
                self.context.drop(target)
            elif why:
                self.context.drop(target)
                self.context.news.add(f"The page opened a tab, which was closed again: {why}.")
            else:
                self.tabs.append(WebTab(self.context, target))
                self.switch(len(self.tabs) - 1)
                self.context.news.add("The page opened a new tab, which is the current one now.")

    def forget_closed(self) -> None:
        """Remove the tabs that their own pages closed."""
        current = self.tab
        open_ones = [tab for tab in self.tabs if not tab.target.closed]
        if open_ones and len(open_ones) < len(self.tabs):
            self.context.news.add("A tab was closed by its page.")
            self.tabs = open_ones
            self.current = self.tabs.index(current) if current in self.tabs else len(self.tabs) - 1

    def take_lasting(self) -> bool:
        """Return True if servers may have stored something since the last call."""
        traffics = [tab.target.traffic for tab in self.tabs]
        lasting = any(traffic.lasting for traffic in traffics)
        for traffic in traffics:
            traffic.lasting = False
        return lasting

    @property
    def url(self) -> str:
        """The address of the current tab."""
        return self.page.url if self.page else ""

    # Acting.

    def do(self, move: Move) -> Observation:
        """Act in the current tab, wait until it settles, and return its observation."""
        tab, document = self.tab, self.tab.target.traffic.document
        tab.target.traffic.forget()  # do not wait again for requests that timed out before
        try:
            refusal = move(tab) or self.context.finish_loading(tab.target, document)
        except TabGone as gone:
            refusal = ""
            self.replace_lost(tab, str(gone), self.page)
        self.take_popups()
        self.forget_closed()
        stayed = tab is self.tab and tab.target.traffic.document == document
        return self._observe(refusal, stayed)

    # Elements.

    def number(self, node: AccessibilityNode) -> int:
        """Return the number of a node of the current page."""
        assert self.page is not None
        return self._numbers.number(self.page, node, self._open_elsewhere)

    def place(self, number: int) -> ElementRef | str:
        """Return the place of the element with that number, or why there is none."""
        place = self._numbers.place(number)
        if place is None:
            return f"there is no element [{number}]"
        if place.document == self.tab.target.traffic.document:
            return place
        where = "in another tab" if self._open_elsewhere(place.document) else "on a page that was left"
        return f"the element [{number}] is {where}"

    def name(self, number: int, place: ElementRef) -> str:
        """Return the last known description of the element, such as ``[3] button 'Ok'``."""
        node = self.page.by_backend.get(place.backend) if self.page else None
        return f"[{number}] {node.role} {quoted(node.text(), 80)}" if node else f"[{number}]"

    def find(self, role: str, name: str) -> list[JsonValue]:
        """Return descriptions of the page's elements with that role and that text in their name, both in lower case."""
        nodes = list(self.page.root.walk())[1:] if self.page else []
        matches = [node for node in nodes if role in ("", node.role) and name in node.text().lower()]
        return [self.names.shorten_values(describe(node, self.number(node))) for node in matches]

    def _open_elsewhere(self, document: str) -> bool:
        return any(tab.target.traffic.document == document for tab in self.tabs if tab is not self.tab)

    # Observing.

    def last_observation(self) -> Observation:
        """Return the last observed page again, without news."""
        return Observation(self.names.short(self._page(self.page)) if self.page else "")

    def _observe(self, refusal: str, stayed: bool) -> Observation:
        try:
            page = read(self.context, self.tab.target)
        except TabGone as gone:
            self.replace_lost(self.tab, str(gone), self.page)
            self.forget_closed()
            page = read(self.context, self.tab.target)
        self.page = page
        self.base = page.url if page.url != BLANK else self.base
        news, self.context.news = self.context.news, News()
        if news.refused and stayed and not refusal:
            refusal = news.refused.pop(0)
        lines = [f"{REFUSED}{refusal}."] if refusal else []
        text = "\n".join([*lines, *(f"{reason}." for reason in news.refused), *news.lines(), self._page(page)])
        return Observation(self.names.short(text), accepted=not refusal, lasting=self.take_lasting())

    def _page(self, page: Page) -> str:
        tabs = [f"{n} (current)" if tab is self.tab else str(n) for n, tab in enumerate(self.tabs, 1)]
        return observation_text(page, tabs, self.number, self._characters)
