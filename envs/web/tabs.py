"""The tabs of an episode: which there are, where they have been, and what becomes of them."""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from planbook.envs.web.addresses import BLANK
from planbook.envs.web.context import Context, TabGone
from planbook.envs.web.hearing import MOST_TABS, Target
from planbook.envs.web.reading import Page, Trail
from planbook.envs.web.tab import Tab
from planbook.envs.web.writing import quoted


@dataclass(frozen=True)
class Saved:
    """Where the tabs were: history and scrolling of each, and the number of the current one."""

    tabs: Sequence[tuple[Trail, tuple[float, float]]]
    current: int


class Tabs:
    """Tabs in a browser context of their own. Their numbers count from 0 here."""

    def __init__(self, context: Context, first: Target) -> None:
        """``first`` is the tab to begin in."""
        self.context = context
        self.tabs = [Tab(context, first)]
        self.current = 0

    @property
    def tab(self) -> Tab:
        """The current tab."""
        return self.tabs[self.current]

    def step(self, tab: Tab, by: int) -> str:
        """One page back (-1) or forward (1)."""
        trail = tab.trail()
        at = trail.at + by
        if not 0 <= at < len(trail.urls):
            return f"there is no page to go {'back' if by < 0 else 'forward'} to"
        if not tab.step(by):
            self._reopen(tab, Trail(trail.urls, at))
        return ""

    def open_tab(self) -> str:
        """An empty tab behind the others, which becomes the current one."""
        self.tabs.append(Tab(self.context, self.context.open()))
        self.current = len(self.tabs) - 1
        return ""

    def switch(self, number: int) -> None:
        """Make another tab the current one."""
        self.current = number
        with suppress(TabGone):  # whoever looks at it next is told
            self.context.call(self.tab.target, "Page.bringToFront")

    def close_tab(self) -> None:
        """Close the current tab; the one before it becomes the current one."""
        self.context.drop(self.tab.target)
        del self.tabs[self.current]
        self.switch(max(0, self.current - 1))

    @property
    def room(self) -> bool:
        """Whether one more tab may be opened."""
        return len(self.tabs) < MOST_TABS

    # Coming back.

    def save(self) -> Saved:
        """Where the tabs are."""
        return Saved([self._where(tab) for tab in self.tabs], self.current)

    @staticmethod
    def _where(tab: Tab) -> tuple[Trail, tuple[float, float]]:
        try:
            return tab.trail(), tab.scrolled()
        except TabGone:
            return Trail([BLANK], 0), (0, 0)

    def bring_back(self, saved: Saved) -> None:
        """Load the pages of a moment again, as they are now."""
        for tab in self.tabs[len(saved.tabs) :]:
            self.context.drop(tab.target)
        del self.tabs[len(saved.tabs) :]
        while len(self.tabs) < len(saved.tabs):
            self.tabs.append(Tab(self.context, self.context.open()))
        for tab, (trail, scroll) in zip(self.tabs, saved.tabs, strict=True):
            self._reopen(tab, trail, scroll)
        self.current = saved.current
        if len(self.tabs) > 1:
            self.switch(saved.current)

    def _reopen(self, tab: Tab, trail: Trail, scroll: tuple[float, float] = (0, 0)) -> None:
        """Show a page of a history in a new tab of the browser in the place of this one."""
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
            self.context.news.tell(f"{quoted(trail.urls[trail.at])} could not be loaded again: {why}.")

    # What happens without us.

    def mourn(self, tab: Tab, why: str, last: Page | None) -> None:
        """Put an empty tab in the place of one that is of no use any more. ``last`` is the page that was seen last."""
        old = tab.target
        if old.closed and len(self.tabs) > 1:
            return
        lost = last is None or old.traffic.document == last.document
        trail = tab.trail(last.trail) if last else Trail([], 0)
        tab.before, tab.after = trail.urls[: trail.at + (not lost)], []
        tab.target = self.context.open()
        if not old.closed:
            self.context.drop(old)
        self.context.news.tell(f"The tab was lost and replaced by an empty one: {why}.")

    def take_popups(self) -> None:
        """Tabs that pages opened, if they may be seen; the last of them becomes the current one."""
        while self.context.popups:
            target = self.context.popups.pop(0)
            try:
                url = self.context.catch_up(target)
                why = self.context.gate.why_not(url) if url else ""
            except TabGone as gone:
                url, why = "", str(gone)
            if target.refused and url in ("", BLANK):
                self.context.drop(target)
            elif why:
                self.context.drop(target)
                self.context.news.tell(f"The page opened a tab, which was closed again: {why}.")
            else:
                self.tabs.append(Tab(self.context, target))
                self.switch(len(self.tabs) - 1)
                self.context.news.tell("The page opened a new tab, which is the current one now.")

    def forget_closed(self) -> None:
        """Leave out the tabs that their own pages closed."""
        current = self.tab
        open_ones = [tab for tab in self.tabs if not tab.target.closed]
        if open_ones and len(open_ones) < len(self.tabs):
            self.context.news.tell("A tab was closed by its page.")
            self.tabs = open_ones
            self.current = self.tabs.index(current) if current in self.tabs else len(self.tabs) - 1

    def lasting(self) -> bool:
        """Whether servers may have stored something since this was last asked."""
        traffics = [tab.target.traffic for tab in self.tabs]
        lasting = any(traffic.lasting for traffic in traffics)
        for traffic in traffics:
            traffic.lasting = False
        return lasting
