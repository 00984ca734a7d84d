"""A browser context: tabs with cookies and storage of their own, and what they are told to do."""

import time
from collections.abc import Sequence

from pydantic import JsonValue

from planbook.envs.browser import chromium
from planbook.envs.browser.devtools import Answer, Command, CommandRefused, NoAnswer
from planbook.envs.errors import WorldBroken
from planbook.envs.web.addresses import BLANK, Gate
from planbook.envs.web.hearing import Hearing, News, Target

QUIET = 0.03
"""Seconds without a word from the browser after which a page that waits for nothing is taken for settled."""
RESTLESS = 1.5
"""Seconds after which a page that stays at work, though it goes nowhere, is looked at as it is."""


class TabGone(WorldBroken):
    """The tab of an action crashed, was closed, or does not answer any more; the browser itself is there."""


class Context(Hearing):
    """The tabs of one world."""

    def __init__(self, browser: chromium.Browser, gate: Gate, patience: float) -> None:
        """``patience`` in seconds: how long a page may load, or leave a command without an answer."""
        super().__init__(browser, gate)
        self.patience = patience

    def close(self) -> None:
        """End the context with its tabs, cookies and storage; harmless where the browser is gone."""
        try:
            self._browser("Target.disposeBrowserContext", browserContextId=self._id)
        except WorldBroken:
            pass
        finally:
            self.connection.close()

    def renew(self) -> Target:
        """End all tabs and begin again with an empty one, without cookies and storage.

        What the browser keeps of pages that their servers let it keep stays: this is for servers of ours.
        """
        first = self.open()
        for target in [*self._targets.values()]:
            if target is not first:
                self.drop(target)
        self._browser("Storage.clearCookies", browserContextId=self._id)
        for origin in sorted(self._origins):
            self.call(first, "Storage.clearDataForOrigin", origin=origin, storageTypes="all")
        self.popups, self.news = [], News()
        return first

    def set_cookies(self, cookies: Sequence[JsonValue]) -> None:
        """Give the context cookies, as ``Storage.setCookies`` takes them. Raises WorldBroken where one is refused."""
        try:
            self._browser("Storage.setCookies", browserContextId=self._id, cookies=[*cookies])
        except CommandRefused as error:
            raise WorldBroken(f"the browser refuses a cookie of the login: {error}") from error

    def open(self, hidden: bool = False) -> Target:
        """A new, empty tab. A ``hidden`` one keeps its news to itself."""
        made = self._browser("Target.createTarget", url=BLANK, browserContextId=self._id, newWindow=True)
        attached = self._browser("Target.attachToTarget", targetId=made["targetId"], flatten=True)
        target = self._know(str(made["targetId"]), str(attached["sessionId"]), hidden)
        self.call_all(target, self._preparations())
        return target

    def drop(self, target: Target) -> None:
        """Close a tab, whatever state it is in."""
        target.gone = True
        self._targets.pop(target.session, None)
        try:
            self._browser("Target.closeTarget", targetId=target.id)
        except CommandRefused:
            return

    def call(self, target: Target, method: str, **parameters: JsonValue) -> Answer:
        """One command to a tab. Raises CommandRefused, TabGone, and WorldBroken where the browser is gone."""
        return self.call_all(target, [(method, parameters)])[0]

    def call_all(self, target: Target, commands: Sequence[Command]) -> list[Answer]:
        """Several commands to a tab, in order."""
        if target.gone:
            raise TabGone("the page crashed")
        try:
            return self.connection.call_all(commands, session=target.session, seconds=self.patience)
        except NoAnswer as error:
            target.gone = True
            raise TabGone(f"the page did not answer for {self.patience:g} seconds") from error

    def catch_up(self, target: Target) -> str:
        """Learn what a tab showed before it was listened to, and wait until it is there. The address it came to."""
        tree, state = self.call_all(
            target, [("Page.getFrameTree", {}), ("Runtime.evaluate", {"expression": "document.readyState"})]
        )
        target.traffic.document = tree["frameTree"]["frame"]["loaderId"]
        if state["result"].get("value") != "complete":
            target.traffic.announce()
        self.rest(target, target.traffic.document)
        return str(self.call(target, "Page.getNavigationHistory")["entries"][-1]["url"])

    def travel(self, target: Target, method: str, **parameters: JsonValue) -> None:
        """Send a tab to another page; ``rest`` waits for it."""
        target.traffic.announce()
        self.connection.post(method, target.session, **parameters)

    def rest(self, target: Target, document: str) -> str:
        """Wait until a tab that showed a document has come to rest, and give up a page that does not come.

        Why it did not come; empty if it did, or if none was to come.
        """
        if self.settle(target):
            return self._turn_back(target) if target.traffic.failed else ""
        if target.traffic.document != document or not target.traffic.moving:
            self.news.tell(f"The page is still loading after {self.patience:g} seconds.")
            return ""
        self.call(target, "Page.stopLoading")
        target.traffic.forget()
        self.settle(target)
        return f"the page did not load within {self.patience:g} seconds"

    def _turn_back(self, target: Target) -> str:
        """Leave the browser's own page about a failure. What failed."""
        failed, target.traffic.failed = target.traffic.failed, ""
        history = self.call(target, "Page.getNavigationHistory")
        if history["currentIndex"]:
            before = history["entries"][history["currentIndex"] - 1]["id"]
            self.travel(target, "Page.navigateToHistoryEntry", entryId=before)
            self.settle(target)
        return failed

    def settle(self, target: Target) -> bool:
        """Wait until nothing more comes of what was done; whether the tab came to rest within the patience."""
        begun = time.monotonic()
        while (passed := time.monotonic() - begun) < self.patience:
            if target.gone:
                raise TabGone("the page crashed")
            heard = self.connection.listen(QUIET)
            if not heard and not target.traffic.busy:
                return True
            if passed > RESTLESS and not target.traffic.moving:
                target.traffic.forget()
                return True
        return False
