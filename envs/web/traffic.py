"""The requests and frames for which a tab waits, derived from the browser's events."""

import time
from collections.abc import Mapping
from typing import Any

from planbook.envs.web.accessibility import quoted

AWAITED = ("Document", "Stylesheet", "Script", "XHR", "Fetch")
"""Types of requests that may change a page; images and fonts are not awaited."""
HARMLESS = ("GET", "HEAD", "OPTIONS")
"""Request methods that by definition do not change data on the server."""
ANNOUNCED = 1.0
"""Seconds for which an announced navigation is awaited; if it has not begun by then, none is expected."""

Params = Mapping[str, Any]


class Traffic:
    """Requests and loading frames of one tab."""

    def __init__(self, frame: str) -> None:
        """``frame`` is the id of the tab's own frame."""
        self.frame = frame
        self.requests: dict[str, str] = {}
        self.loading: set[str] = set()
        self.document = ""
        """The loader id of the current document, which identifies it."""
        self.lasting = False
        """True if a request may have changed a server's data; whoever reads it resets it."""
        self.failed = ""
        """Why a page did not load, if the browser shows its own error page in its place; else empty."""
        self._failure = ""
        self._announced = 0.0

    @property
    def busy(self) -> bool:
        """True if a pending request or navigation may change the page."""
        return bool(self.requests or self.loading) or time.monotonic() < self._announced

    @property
    def moving(self) -> bool:
        """True if the tab's own frame is loading a document."""
        return self.frame in self.loading or time.monotonic() < self._announced

    def forget(self) -> None:
        """Stop waiting for pending requests and navigations."""
        self.requests.clear()
        self.loading.clear()
        self._announced = 0.0

    def announce(self) -> None:
        """Expect the tab to navigate."""
        self._announced = time.monotonic() + ANNOUNCED

    def handle(self, method: str, params: Params) -> None:
        """Handle one event of the tab."""
        if handler := _HANDLERS.get(method):
            handler(self, params)

    def _sent(self, params: Params) -> None:
        kind = params.get("type")
        if params["request"]["method"] not in HARMLESS and kind not in ("CSPViolationReport", "Preflight"):
            self.lasting = True
        if kind in AWAITED:
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
