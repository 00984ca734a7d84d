"""What a tab is waiting for, told by the browser's events."""

import time
from collections.abc import Mapping
from typing import Any

from planbook.envs.web.accessibility import quoted

AWAITED = ("Document", "Stylesheet", "Script", "XHR", "Fetch")
"""The kinds of requests after which a page may look otherwise; pictures and fonts are not waited for."""
HARMLESS = ("GET", "HEAD", "OPTIONS")
"""Methods of requests that by the rules of the web change nothing at the server."""
ANNOUNCED = 1.0
"""Seconds within which a navigation that a page asked for must have begun."""

Params = Mapping[str, Any]


class Traffic:
    """Requests under way and frames that load, of one tab."""

    def __init__(self, frame: str) -> None:
        """``frame`` is the id of the tab's own frame."""
        self.frame = frame
        self.requests: dict[str, str] = {}
        self.loading: set[str] = set()
        self.document = ""
        """The loader's id of the document that is shown; another one means another document."""
        self.lasting = False
        """Whether a request left that may have changed what a server stores; whoever reads it puts it back."""
        self.failed = ""
        """Why the browser shows a page of its own in the place of one that failed to load."""
        self._failure = ""
        self._announced = 0.0

    @property
    def busy(self) -> bool:
        """Whether something is under way that may change the page."""
        return bool(self.requests or self.loading) or time.monotonic() < self._announced

    @property
    def moving(self) -> bool:
        """Whether the tab's own frame is on its way to a document."""
        return self.frame in self.loading or time.monotonic() < self._announced

    def forget(self) -> None:
        """Wait no longer for what is under way."""
        self.requests.clear()
        self.loading.clear()
        self._announced = 0.0

    def announce(self) -> None:
        """The tab was told to go somewhere: the browser's word of it is awaited."""
        self._announced = time.monotonic() + ANNOUNCED

    def hear(self, method: str, params: Params) -> None:
        """Take in one event of the tab."""
        if handler := _HANDLERS.get(method):
            handler(self, params)

    def _sent(self, params: Params) -> None:
        if params["request"]["method"] not in HARMLESS and params.get("type") not in (
            "CSPViolationReport",
            "Preflight",
        ):
            self.lasting = True
        if params.get("type") in AWAITED:
            self.requests[params["requestId"]] = params["request"]["url"]

    def _answered(self, params: Params) -> None:
        if params.get("type") == "Fetch":  # its body counts as loaded only once a script has read it
            self._ended(params)

    def _failed(self, params: Params) -> None:
        if params.get("type") == "Document":
            self._failure = str(params.get("errorText", "")).removeprefix("net::ERR_")
        self._ended(params)

    def _ended(self, params: Params) -> None:
        self.requests.pop(params["requestId"], None)

    def _announce(self, params: Params) -> None:
        if params.get("disposition") == "currentTab" and params["frameId"] == self.frame:
            self.announce()

    def _begin(self, params: Params) -> None:
        self._announced = 0.0
        self.loading.add(params["frameId"])

    def _stop(self, params: Params) -> None:
        self._announced = 0.0
        self.loading.discard(params["frameId"])

    def _navigated(self, params: Params) -> None:
        if params["frame"]["id"] == self.frame:
            self.document = params["frame"]["loaderId"]
            missing = params["frame"].get("unreachableUrl", "")
            self.failed = f"{quoted(missing)} could not be loaded ({self._failure})" if missing else ""
            self.requests = {number: url for number, url in self.requests.items() if number == self.document}

    def _moved_within(self, _: Params) -> None:
        self._announced = 0.0


_HANDLERS = {
    "Network.requestWillBeSent": Traffic._sent,
    "Network.responseReceived": Traffic._answered,
    "Network.loadingFinished": Traffic._ended,
    "Network.loadingFailed": Traffic._failed,
    "Page.frameRequestedNavigation": Traffic._announce,
    "Page.frameStartedLoading": Traffic._begin,
    "Page.frameStoppedLoading": Traffic._stop,
    "Page.frameDetached": Traffic._stop,
    "Page.frameNavigated": Traffic._navigated,
    "Page.navigatedWithinDocument": Traffic._moved_within,
}
