"""The requests and frames for which a tab has to wait, derived from the browser's events.

A tab counts as settled once nothing is pending that may still change its page.
"""

import time
from collections.abc import Mapping
from typing import Any

from planbook.envs.web.accessibility import quote

AWAITED = ("Document", "Stylesheet", "Script", "XHR", "Fetch")
"""Types of requests that may change a page. Images and fonts are not awaited."""
HARMLESS = ("GET", "HEAD", "OPTIONS")
"""Request methods that by definition do not change data on the server."""
NAVIGATION_START_SECONDS = 1.0
"""Seconds that an expected navigation has to begin. After this time, no navigation is expected any more."""

Params = Mapping[str, Any]
"""The parameters of an event."""


class Traffic:
    """The pending requests and loading frames of one tab."""

    def __init__(self, frame: str) -> None:
        """``frame`` is the id of the tab's own frame."""
        self.frame = frame
        self.requests: dict[str, str] = {}
        """Maps the id of a pending request to its address."""
        self.loading: set[str] = set()
        """The ids of the frames that are loading a document."""
        self.document = ""
        """The loader id of the current document, which identifies it."""
        self.lasting = False
        """True if a request may have changed a server's data. The code that reads this value resets it."""
        self.failed = ""
        """The reason why a page did not load, if the browser shows its own error page instead; otherwise empty."""
        self._failure = ""
        """The browser's name for the last error in loading a document."""
        self._expected_until = 0.0
        """The time until which a navigation is expected to begin."""

    @property
    def busy(self) -> bool:
        """True if a pending request or navigation may change the page."""
        return bool(self.requests or self.loading) or time.monotonic() < self._expected_until

    @property
    def navigating(self) -> bool:
        """True if the tab's own frame is loading a document, or is expected to begin soon."""
        return self.frame in self.loading or time.monotonic() < self._expected_until

    def stop_waiting(self) -> None:
        """Stop waiting for pending requests and navigations."""
        self.requests.clear()
        self.loading.clear()
        self._expected_until = 0.0

    def expect_navigation(self) -> None:
        """Expect the tab to navigate."""
        self._expected_until = time.monotonic() + NAVIGATION_START_SECONDS

    def handle(self, method: str, params: Params) -> None:
        """Handle one event of the tab. ``method`` is the name of the event."""
        match method:
            case "Network.requestWillBeSent":
                self._add_request(params)
            case "Network.responseReceived":
                if params.get("type") == "Fetch":  # it counts as finished only after a script has read its body
                    self.requests.pop(params["requestId"], None)
            case "Network.loadingFinished" | "Network.loadingFailed":
                self.requests.pop(params["requestId"], None)
                if params.get("type") == "Document":  # only a failure has a type
                    self._failure = str(params.get("errorText", "")).removeprefix("net::ERR_")
            case "Page.frameRequestedNavigation":
                if params.get("disposition") == "currentTab" and params["frameId"] == self.frame:
                    self.expect_navigation()
            case "Page.frameStartedLoading":
                self._expected_until = 0.0
                self.loading.add(params["frameId"])
            case "Page.frameStoppedLoading" | "Page.frameDetached":
                self._expected_until = 0.0
                self.loading.discard(params["frameId"])
            case "Page.navigatedWithinDocument":
                self._expected_until = 0.0
            case "Page.frameNavigated":
                if params["frame"]["id"] == self.frame:
                    self._change_document(params["frame"])

    def _add_request(self, params: Params) -> None:
        kind, request = params.get("type"), params["request"]
        if request["method"] not in HARMLESS and kind not in ("CSPViolationReport", "Preflight"):
            self.lasting = True
        if kind in AWAITED:
            self.requests[params["requestId"]] = request["url"]

    def _change_document(self, frame: Params) -> None:
        self.document = frame["loaderId"]
        missing = frame.get("unreachableUrl", "")
        self.failed = f"{quote(missing)} could not be loaded ({self._failure})" if missing else ""
        self.requests = {number: url for number, url in self.requests.items() if number == self.document}
