"""The tabs of an episode. ``WebTab`` navigates one tab and uses its mouse and keyboard; ``Browsing`` holds all tabs.

The agent refers to elements by number. For the browser, an ``ElementRef`` identifies them.
"""

from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from planbook.envs import devtools
from planbook.envs.devtools import Answer, Command
from planbook.envs.errors import EnvironmentBroken
from planbook.envs.types import Observation
from planbook.envs.web.accessibility import AccessibilityNode, quote
from planbook.envs.web.context import MAX_TABS, Context, News, TabGone, TabTarget
from planbook.envs.web.page import ElementNumbers, ElementRef, Page, TabHistory, call_script, read_page, render_page
from planbook.envs.web.sites import BLANK, SiteNames

MAX_TYPED = 100
"""Maximum length of text that is typed key by key. Longer text is inserted with a single command."""


@dataclass
class WebTab:
    """A tab of the environment.

    If a tab is restored, the browser opens a new one with an empty history. The rest of the old history is kept here.
    """

    context: Context
    target: TabTarget
    earlier_urls: list[str] = field(default_factory=list)
    """The addresses before those in the browser's history."""
    later_urls: list[str] = field(default_factory=list)
    """The addresses after those in the browser's history."""

    # Navigating.

    def load(self, url: str) -> str:
        """Start navigating to an address, and return "". If the address may not be opened, return the reason."""
        if reason := self.context.policy.refusal(url):
            return reason
        self.context.start_navigation(self.target, "Page.navigate", url=url)
        return ""

    def fetch(self, url: str) -> str:
        """Navigate to an address, wait for its page, and return "". If the page did not load, return the reason."""
        document = self.target.document
        return self.load(url) or self.context.finish_loading(self.target, document)

    def history(self, known: TabHistory | None = None) -> TabHistory:
        """Return the tab's complete history. ``known`` is the browser's part of it, or None to ask the browser."""
        part = known or TabHistory.from_devtools(self._ask_history())
        later = self.later_urls if len(part.urls) == 1 else []  # a new navigation removes the forward history
        return TabHistory([*self.earlier_urls, *part.urls, *later], len(self.earlier_urls) + part.index)

    def step(self, delta: int) -> bool:
        """Go one page back (-1) or forward (1) in the browser's history. Return False if there is no such page."""
        answer = self._ask_history()
        browser_history, index = TabHistory.from_devtools(answer), answer["currentIndex"] + delta
        if exists := 0 <= browser_history.index + delta < len(browser_history.urls):
            entry = answer["entries"][index]
            self.context.start_navigation(self.target, "Page.navigateToHistoryEntry", entryId=entry["id"])
        return exists

    def _ask_history(self) -> Answer:
        return self.context.call(self.target, "Page.getNavigationHistory")

    def scroll_position(self) -> tuple[float, float]:
        """Return the scroll position (x, y) of the page in pixels."""
        viewport = self.context.call(self.target, "Page.getLayoutMetrics")["cssVisualViewport"]
        return float(viewport["pageX"]), float(viewport["pageY"])

    def scroll_to(self, x: float, y: float) -> None:
        """Scroll the page to a position, or as close to it as the page allows."""
        self.value(f"scrollTo({{left: {x}, top: {y}, behavior: 'instant'}})")
        self.context.settle(self.target)

    # Mouse and keyboard.

    def click(self, ref: ElementRef) -> dict[str, Any]:
        """Click on the visible part of an element.

        If nothing could be done, the returned dict has the key ``refused``. Its value is the reason, a sentence without
        its subject ("is hidden"). The same holds for ``type``, ``scroll`` and ``ask``.
        """
        point = self.ask(ref, "aim")
        if "refused" not in point:
            self.context.call_all(self.target, devtools.click_commands(point["x"], point["y"]))
        return point

    def type(self, ref: ElementRef, text: str, enter: bool) -> dict[str, Any]:
        """Replace the content of a field with ``text``. If ``enter`` is True, press Enter, except in ``<textarea>``."""
        form_field = self.ask(ref, "field")
        if "refused" in form_field:
            return form_field
        if "\n" in text and not form_field["lines"]:
            return {"refused": "takes only one line, but the text has several"}
        if form_field["way"] == "set":
            answer = self.ask(ref, "set", text)
            if "refused" in answer:
                return answer
        else:
            point = self.click(ref)
            content = point if "refused" in point else self.ask(ref, "selectContent")
            if "refused" in content:
                return content
            delete = devtools.KEYS["delete"] if content["full"] else []
            insert: Command = ("Input.insertText", {"text": text})
            typed = list(devtools.typing_commands(text)) if len(text) <= MAX_TYPED else [insert]
            self.context.call_all(self.target, [*delete, *typed])
        if enter and not form_field["area"]:
            self.context.call_all(self.target, devtools.KEYS["enter"])
        return {}

    def scroll(self, sign: int, ref: ElementRef | None) -> dict[str, Any]:
        """Scroll the part of the page around the element, or the page if ``ref`` is None, down (1) or up (-1)."""
        return self.ask(ref, "scroll", sign)

    def ask(self, ref: ElementRef | None, function: str, *arguments: JsonValue) -> dict[str, Any]:
        """Call a function of ``page.js`` on an element, or on null if ``ref`` is None, and return its answer."""
        return call_script(self.context, self.target, ref, function, *arguments)

    def value(self, expression: str) -> Any:
        """Return the value of a JavaScript expression in the page, or None if it raises an error.

        Raises EnvironmentBroken if the expression, or a CSS selector in it, has a syntax error.
        """
        answer = self.context.call(
            self.target, "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        fault = str(answer.get("exceptionDetails", {}).get("exception", {}).get("description", ""))
        if fault.startswith("SyntaxError"):
            raise EnvironmentBroken(f"the script {expression!r} cannot be run: {fault.splitlines()[0]}")
        return None if "exceptionDetails" in answer else answer["result"].get("value")


SavedTabs = tuple[list[tuple[TabHistory, tuple[float, float]]], int]
"""The history and the scroll position of each tab, and the index of the current tab."""

REFUSED = "Nothing happens: "
"""The beginning of an observation after an action that was refused."""
TabAction = Callable[[WebTab], str]
"""A function that acts in a tab. It returns "", or the reason why it did nothing."""


class Browsing:
    """The tabs of an episode, which share one browser context, and the page that the agent observed last."""

    def __init__(self, context: Context, names: SiteNames, characters: int) -> None:
        """Open one empty tab. ``characters`` is the maximum number of page characters in an observation."""
        self.context, self.names, self._characters = context, names, characters
        self.tabs = [WebTab(context, context.open())]
        self.current = 0
        """The index of the current tab."""
        self.page: Page | None = None
        """The page that was observed last."""
        self.base = ""
        """The last observed address other than ``about:blank``. ``goto('/wiki')`` opens a page on its site."""
        self._numbers = ElementNumbers()

    @property
    def tab(self) -> WebTab:
        """The current tab."""
        return self.tabs[self.current]

    def step(self, tab: WebTab, delta: int) -> str:
        """Go one page back (-1) or forward (1) in a tab. Return the reason why this is impossible, or ""."""
        history = tab.history()
        index = history.index + delta
        if not 0 <= index < len(history.urls):
            return f"there is no page to go {'back' if delta < 0 else 'forward'} to"
        if not tab.step(delta):
            self._reopen(tab, TabHistory(history.urls, index))
        return ""

    def open_tab(self) -> str:
        """Open an empty tab after the others, and make it the current tab. Return "", or the reason if this fails."""
        if len(self.tabs) >= MAX_TABS:
            return f"no more than {MAX_TABS} tabs can be open"
        self.tabs.append(WebTab(self.context, self.context.open()))
        self.current = len(self.tabs) - 1
        return ""

    def switch(self, number: int) -> None:
        """Make another tab the current tab. ``number`` is its index, counted from 0."""
        self.current = number
        with suppress(TabGone):  # the next observation reports it
            self.context.call(self.tab.target, "Page.bringToFront")

    def close_tab(self) -> None:
        """Close the current tab. The tab before it, or else the first, becomes the current tab."""
        self.context.drop(self.tab.target)
        del self.tabs[self.current]
        self.switch(max(0, self.current - 1))

    # Restoring.

    def save(self) -> SavedTabs:
        """Return what ``restore`` needs to open the same tabs again."""
        return [self._position(tab) for tab in self.tabs], self.current

    @staticmethod
    def _position(tab: WebTab) -> tuple[TabHistory, tuple[float, float]]:
        try:
            return tab.history(), tab.scroll_position()
        except TabGone:
            return TabHistory([BLANK], 0), (0, 0)

    def restore(self, saved: SavedTabs) -> Observation:
        """Restore saved tabs, and return the observation of the current tab.

        Each page is loaded again, so the observation shows the page's current content, not the saved content.
        """
        positions, current = saved
        for tab in self.tabs[len(positions) :]:
            self.context.drop(tab.target)
        del self.tabs[len(positions) :]
        while len(self.tabs) < len(positions):
            self.tabs.append(WebTab(self.context, self.context.open()))
        for tab, (history, scroll) in zip(self.tabs, positions, strict=True):
            self._reopen(tab, history, scroll)
        self.switch(current)
        return self.do(lambda _: "")

    def _reopen(self, tab: WebTab, history: TabHistory, scroll: tuple[float, float] = (0, 0)) -> None:
        """Replace the browser's tab with a new one, and load the current page of ``history`` there."""
        old, tab.target = tab.target, self.context.open()
        later = [url for url in history.urls[history.index + 1 :] if url != BLANK]
        tab.earlier_urls, tab.later_urls = history.urls[: history.index], later
        self.context.drop(old)
        try:
            reason = tab.fetch(history.urls[history.index])
            if not reason and scroll != (0, 0):
                tab.scroll_to(*scroll)
        except TabGone as gone:
            reason = str(gone)
            self.context.drop(tab.target)
            tab.target = self.context.open()
        if reason:
            self.context.news.add(f"{quote(history.urls[history.index])} could not be loaded again: {reason}.")

    def replace_lost(self, tab: WebTab, reason: str) -> None:
        """Replace a tab that can no longer be used with an empty one whose history leads back to the old tab's pages.

        If the old tab was closed and other tabs are open, do nothing.
        """
        old, last = tab.target, self.page
        if old.closed and len(self.tabs) > 1:
            return
        shows_last_page = last is None or old.document == last.document
        history = tab.history(last.browser_history) if last else TabHistory([], 0)
        tab.earlier_urls, tab.later_urls = history.urls[: history.index + (not shows_last_page)], []
        tab.target = self.context.open()
        if not old.closed:
            self.context.drop(old)
        self.context.news.add(f"The tab was lost and replaced by an empty one: {reason}.")

    def take_popups(self) -> None:
        """Add the tabs that pages opened, if their addresses are allowed. The last of them becomes the current tab."""
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
        open_tabs = [tab for tab in self.tabs if not tab.target.closed]
        if open_tabs and len(open_tabs) < len(self.tabs):
            self.context.news.add("A tab was closed by its page.")
            self.tabs = open_tabs
            self.current = self.tabs.index(current) if current in self.tabs else len(self.tabs) - 1

    def pop_lasting(self) -> bool:
        """Return True if requests may have changed data on servers since the last call."""
        lasting = any(tab.target.may_have_changed_data for tab in self.tabs)
        for tab in self.tabs:
            tab.target.may_have_changed_data = False
        return lasting

    @property
    def url(self) -> str:
        """The address of the page that was observed last, or "" if none was observed."""
        return self.page.url if self.page else ""

    def do(self, tab_action: TabAction) -> Observation:
        """Act in the current tab, wait until the tab has settled, and return the new observation."""
        tab, document = self.tab, self.tab.target.document
        tab.target.stop_waiting()  # do not wait again for requests that timed out during the last action
        try:
            refusal = tab_action(tab) or self.context.finish_loading(tab.target, document)
        except TabGone as gone:
            refusal = ""
            self.replace_lost(tab, str(gone))
        self.take_popups()
        self.remove_closed()
        same_document = tab is self.tab and tab.target.document == document
        return self._observe(refusal, same_document)

    # Elements and observations.

    def number(self, node: AccessibilityNode) -> int:
        """Return the number of a node of the current page."""
        assert self.page is not None
        return self._numbers.number(self.page, node, self._is_open_elsewhere)

    def element_ref(self, number: int) -> ElementRef | str:
        """Return the reference to an element, or the reason why the element is not in the current tab."""
        ref = self._numbers.refs.get(number)
        if ref is None:
            return f"there is no element [{number}]"
        if ref.document == self.tab.target.document:
            return ref
        location = "in another tab" if self._is_open_elsewhere(ref.document) else "on a page that was left"
        return f"the element [{number}] is {location}"

    def name(self, number: int, ref: ElementRef) -> str:
        """Return the last known number, role and name of an element, such as ``[3] button 'Ok'``."""
        node = self.page.by_backend.get(ref.backend) if self.page else None
        return f"[{number}] {node.role} {quote(node.text(), 80)}" if node else f"[{number}]"

    def find(self, role: str, name: str) -> list[JsonValue]:
        """Describe the elements of the page that have the role, and whose name or text contains ``name``.

        Both arguments are in lower case. An empty argument matches every element.
        """
        nodes = list(self.page.root.walk())[1:] if self.page else []
        matches = [node for node in nodes if role in ("", node.role) and name in node.text().lower()]
        return [self.names.shorten_values(node.describe(self.number(node))) for node in matches]

    def _is_open_elsewhere(self, document: str) -> bool:
        """Return True if a tab other than the current one shows the document."""
        return any(tab.target.document == document for tab in self.tabs if tab is not self.tab)

    def last_observation(self) -> Observation:
        """Return the observation of the page that was observed last, without reports of events."""
        return Observation(self.names.shorten(self._page_text(self.page)) if self.page else "")

    def _observe(self, refusal: str, same_document: bool) -> Observation:
        """Read the current tab, and return the observation.

        ``same_document`` is True if the tab shows the same document as before the action. A refused navigation is then
        reported as the reason why nothing happened.
        """
        try:
            page = read_page(self.context, self.tab.target)
        except TabGone as gone:
            self.replace_lost(self.tab, str(gone))
            self.remove_closed()
            page = read_page(self.context, self.tab.target)
        self.page = page
        self.base = page.url if page.url != BLANK else self.base
        news, self.context.news = self.context.news, News()
        if news.refused and same_document and not refusal:
            refusal = news.refused.pop(0)
        lines = [f"{REFUSED}{refusal}."] if refusal else []
        text = "\n".join([*lines, *(f"{reason}." for reason in news.refused), *news.lines(), self._page_text(page)])
        return Observation(self.names.shorten(text), accepted=not refusal, lasting=self.pop_lasting())

    def _page_text(self, page: Page) -> str:
        tabs = [f"{n} (current)" if tab is self.tab else str(n) for n, tab in enumerate(self.tabs, 1)]
        return render_page(page, tabs, self.number, self._characters)
