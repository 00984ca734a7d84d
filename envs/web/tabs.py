"""The tabs of an episode: open, restore and replace tabs, act in the current one, and observe it.

An element has a number, by which the agent names it, and an ``ElementRef``, by which the browser finds it.
"""

from collections.abc import Callable
from contextlib import suppress

from pydantic import JsonValue

from planbook.envs.types import Observation
from planbook.envs.web.accessibility import AccessibilityNode, quote
from planbook.envs.web.addresses import BLANK, SiteNames
from planbook.envs.web.context import MAX_TABS, Context, News, TabGone
from planbook.envs.web.page import ElementNumbers, ElementRef, Page, Trail, describe, observation_text, read
from planbook.envs.web.tab import WebTab

SavedTabs = tuple[list[tuple[Trail, tuple[float, float]]], int]
"""A copy of the tabs: the history and the scroll position of each tab, and the index of the current one."""

REFUSED = "Nothing happens: "
"""The beginning of an observation if an action was refused."""
TabAction = Callable[[WebTab], str]
"""A function that acts in a tab. It returns the reason if nothing was done, or ""."""


class Browsing:
    """The tabs of an episode, in their own browser context, and the page that was observed last."""

    def __init__(self, context: Context, names: SiteNames, characters: int) -> None:
        """Open one empty tab. An observation shows at most ``characters`` of a page."""
        self.context, self.names, self._characters = context, names, characters
        self.tabs = [WebTab(context, context.open())]
        self.current = 0
        """The index of the current tab."""
        self.page: Page | None = None
        """The page that was observed last."""
        self.base = ""
        """The last observed address other than ``about:blank``."""
        self._numbers = ElementNumbers()

    @property
    def tab(self) -> WebTab:
        """The current tab."""
        return self.tabs[self.current]

    def step(self, tab: WebTab, delta: int) -> str:
        """Go one page back (-1) or forward (1) in a tab. Return the reason if this is not possible, or ""."""
        trail = tab.trail()
        index = trail.index + delta
        if not 0 <= index < len(trail.urls):
            return f"there is no page to go {'back' if delta < 0 else 'forward'} to"
        if not tab.step(delta):
            self._reopen(tab, Trail(trail.urls, index))
        return ""

    def open_tab(self) -> str:
        """Open an empty tab after the other ones, and make it the current tab.

        Return the reason if this is not possible, or "".
        """
        if len(self.tabs) >= MAX_TABS:
            return "there are as many tabs as there can be"
        self.tabs.append(WebTab(self.context, self.context.open()))
        self.current = len(self.tabs) - 1
        return ""

    def switch(self, number: int) -> None:
        """Make another tab the current one. ``number`` is its index, from 0."""
        self.current = number
        with suppress(TabGone):  # the next observation reports it
            self.context.call(self.tab.target, "Page.bringToFront")

    def close_tab(self) -> None:
        """Close the current tab. The tab before it becomes the current one."""
        self.context.drop(self.tab.target)
        del self.tabs[self.current]
        self.switch(max(0, self.current - 1))

    # Restoring.

    def save(self) -> SavedTabs:
        """Return a copy of the tabs."""
        return [self._position(tab) for tab in self.tabs], self.current

    @staticmethod
    def _position(tab: WebTab) -> tuple[Trail, tuple[float, float]]:
        try:
            return tab.trail(), tab.scroll_position()
        except TabGone:
            return Trail([BLANK], 0), (0, 0)

    def load(self, saved: SavedTabs) -> Observation:
        """Restore the tabs of a copy, and return the observation.

        Each page is loaded again, so it is shown in its current state.
        """
        positions, current = saved
        for tab in self.tabs[len(positions) :]:
            self.context.drop(tab.target)
        del self.tabs[len(positions) :]
        while len(self.tabs) < len(positions):
            self.tabs.append(WebTab(self.context, self.context.open()))
        for tab, (trail, scroll) in zip(self.tabs, positions, strict=True):
            self._reopen(tab, trail, scroll)
        self.switch(current)
        return self.do(lambda _: "")

    def _reopen(self, tab: WebTab, trail: Trail, scroll: tuple[float, float] = (0, 0)) -> None:
        """Replace the browser's tab with a new one, and load the current page of a history there."""
        old, tab.target = tab.target, self.context.open()
        later = [url for url in trail.urls[trail.index + 1 :] if url != BLANK]
        tab.earlier_urls, tab.later_urls = trail.urls[: trail.index], later
        self.context.drop(old)
        try:
            reason = tab.fetch(trail.urls[trail.index])
            if not reason and scroll != (0, 0):
                tab.scroll_to(*scroll)
        except TabGone as gone:
            reason = str(gone)
            self.context.drop(tab.target)
            tab.target = self.context.open()
        if reason:
            self.context.news.add(f"{quote(trail.urls[trail.index])} could not be loaded again: {reason}.")

    # Popups and lost tabs.

    def replace_lost(self, tab: WebTab, reason: str) -> None:
        """Replace an unusable tab with an empty one that can go back to its earlier pages.

        A closed tab is not replaced if other tabs are open.
        """
        old, last = tab.target, self.page
        if old.closed and len(self.tabs) > 1:
            return
        is_lost = last is None or old.traffic.document == last.document
        trail = tab.trail(last.trail) if last else Trail([], 0)
        tab.earlier_urls, tab.later_urls = trail.urls[: trail.index + (not is_lost)], []
        tab.target = self.context.open()
        if not old.closed:
            self.context.drop(old)
        self.context.news.add(f"The tab was lost and replaced by an empty one: {reason}.")

    def take_popups(self) -> None:
        """Add the tabs that pages opened, if their addresses are allowed. The last one becomes the current tab."""
        while self.context.popups:
            target = self.context.popups.pop(0)
            try:
                url = self.context.catch_up(target)
                reason = self.context.policy.refusal(url) if url else ""
            except TabGone as gone:
                url, reason = "", str(gone)
            if target.refused and url in ("", BLANK):
                self.context.drop(target)
            elif reason:
                self.context.drop(target)
                self.context.news.add(f"The page opened a tab, which was closed again: {reason}.")
            else:
                self.tabs.append(WebTab(self.context, target))
                self.switch(len(self.tabs) - 1)
                self.context.news.add("The page opened a new tab, which is the current one now.")

    def remove_closed(self) -> None:
        """Remove the tabs that their own pages or the browser closed."""
        current = self.tab
        open_ones = [tab for tab in self.tabs if not tab.target.closed]
        if open_ones and len(open_ones) < len(self.tabs):
            self.context.news.add("A tab was closed by its page.")
            self.tabs = open_ones
            self.current = self.tabs.index(current) if current in self.tabs else len(self.tabs) - 1

    def pop_lasting(self) -> bool:
        """Return True if servers may have stored something since this method was called last."""
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

    def do(self, move: TabAction) -> Observation:
        """Act in the current tab, wait until it settles, and return its observation."""
        tab, document = self.tab, self.tab.target.traffic.document
        tab.target.traffic.stop_waiting()  # do not wait again for requests that timed out during the last action
        try:
            refusal = move(tab) or self.context.finish_loading(tab.target, document)
        except TabGone as gone:
            refusal = ""
            self.replace_lost(tab, str(gone))
        self.take_popups()
        self.remove_closed()
        same_document = tab is self.tab and tab.target.traffic.document == document
        return self._observe(refusal, same_document)

    # Elements.

    def number(self, node: AccessibilityNode) -> int:
        """Return the number of a node of the current page."""
        assert self.page is not None
        return self._numbers.number(self.page, node, self._is_open_elsewhere)

    def element_ref(self, number: int) -> ElementRef | str:
        """Return the reference to the element with that number, or the reason if it is not in the current tab."""
        ref = self._numbers.refs.get(number)
        if ref is None:
            return f"there is no element [{number}]"
        if ref.document == self.tab.target.traffic.document:
            return ref
        location = "in another tab" if self._is_open_elsewhere(ref.document) else "on a page that was left"
        return f"the element [{number}] is {location}"

    def name(self, number: int, ref: ElementRef) -> str:
        """Return the last known description of the element, such as ``[3] button 'Ok'``."""
        node = self.page.by_backend.get(ref.backend) if self.page else None
        return f"[{number}] {node.role} {quote(node.text(), 80)}" if node else f"[{number}]"

    def find(self, role: str, name: str) -> list[JsonValue]:
        """Return descriptions of the page's elements that have the role, and whose name or text contains ``name``.

        Both arguments are in lower case. An empty one matches every element.
        """
        nodes = list(self.page.root.walk())[1:] if self.page else []
        matches = [node for node in nodes if role in ("", node.role) and name in node.text().lower()]
        return [self.names.shorten_values(describe(node, self.number(node))) for node in matches]

    def _is_open_elsewhere(self, document: str) -> bool:
        """Return True if a tab other than the current one shows the document."""
        return any(tab.target.traffic.document == document for tab in self.tabs if tab is not self.tab)

    # Observing.

    def last_observation(self) -> Observation:
        """Return the page that was observed last, without a report of what happened."""
        return Observation(self.names.shorten(self._page(self.page)) if self.page else "")

    def _observe(self, refusal: str, same_document: bool) -> Observation:
        """Read the current tab and return the observation.

        ``same_document`` is True if the action did not change the document. Then a navigation that was refused
        counts as the reason why nothing happened.
        """
        try:
            page = read(self.context, self.tab.target)
        except TabGone as gone:
            self.replace_lost(self.tab, str(gone))
            self.remove_closed()
            page = read(self.context, self.tab.target)
        self.page = page
        self.base = page.url if page.url != BLANK else self.base
        news, self.context.news = self.context.news, News()
        if news.refused and same_document and not refusal:
            refusal = news.refused.pop(0)
        lines = [f"{REFUSED}{refusal}."] if refusal else []
        text = "\n".join([*lines, *(f"{reason}." for reason in news.refused), *news.lines(), self._page(page)])
        return Observation(self.names.shorten(text), accepted=not refusal, lasting=self.pop_lasting())

    def _page(self, page: Page) -> str:
        tabs = [f"{n} (current)" if tab is self.tab else str(n) for n, tab in enumerate(self.tabs, 1)]
        return observation_text(page, tabs, self.number, self._characters)
