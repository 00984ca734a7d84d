"""A browser context: a group of tabs with their own cookies and storage, and the browser's events about these tabs.

The browser's events arrive while the connection waits for an answer or listens. ``PendingEvents`` collects the events
that the agent should know about, and the next observation reports them.
"""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from planbook.envs import chromium
from planbook.envs.devtools import Answer, Command, CommandRefused, Connection, Event, NoAnswer
from planbook.envs.errors import EnvironmentBroken
from planbook.envs.web.accessibility import quote
from planbook.envs.web.sites import BLANK, AddressPolicy

VIEW: Mapping[str, JsonValue] = {"width": 1280, "height": 720, "deviceScaleFactor": 1, "mobile": False}
"""The size of every tab's window, in pixels."""
MAX_TABS, MAX_SENTENCES = 8, 10
"""Maximum number of open tabs (hidden tabs do not count), and of different events that an observation reports."""
DIALOG_ANSWERS: Mapping[str, tuple[bool, str]] = {
    "alert": (True, "it was closed"),
    "confirm": (True, "it was answered with OK"),
    "prompt": (False, "it was cancelled"),
    "beforeunload": (True, "the page was left"),
}
"""Maps each kind of dialog to whether we accept it, and to the words that report this to the agent."""
AWAITED_TYPES = ("Document", "Stylesheet", "Script", "XHR", "Fetch")
"""Types of requests to wait for, since they may change a page. Requests for images and fonts cannot."""
SAFE_METHODS = ("GET", "HEAD", "OPTIONS")
"""HTTP methods that by definition do not change data on the server."""
NAVIGATION_START_SECONDS = 1.0
"""Seconds within which an expected navigation has to begin."""
QUIET_SECONDS = 0.03
"""Seconds without events after which a page counts as settled, if nothing is pending."""
MAX_BUSY_SECONDS = 1.5
"""Seconds after which a page is read even if it is still sending requests, unless it is navigating."""
Params = Mapping[str, Any]
"""The parameters of an event."""


@dataclass
class TabTarget:
    """One tab of the browser, which DevTools calls a target, with its pending requests and loading frames.

    The tab counts as settled once nothing is pending that may still change its page.
    """

    id: str
    """The id of the target. The tab's main frame has the same id."""
    session: str
    """The id to which commands for this tab are addressed."""
    hidden: bool = False
    """True if nothing about the tab is reported to the agent. Hidden tabs are used for judging and logging in."""
    has_refused_navigation: bool = False
    """True if one of the tab's navigations was refused."""
    gone: bool = False
    """True if the tab can no longer be used: it crashed, was closed, or did not answer."""
    closed: bool = False
    """True if the tab's page or the browser closed the tab."""
    pending_requests: dict[str, str] = field(default_factory=dict)
    """Maps the id of a pending request to its address."""
    loading_frames: set[str] = field(default_factory=set)
    """The ids of the frames that are loading a document."""
    document: str = ""
    """The loader id of the current document, which identifies it."""
    may_have_changed_data: bool = False
    """True if a request may have changed a server's data. ``Browsing.clear_change_flags`` resets it."""
    load_failure: str = ""
    """If the browser shows its own error page, the reason why the page did not load. Otherwise ""."""
    _error_name: str = ""
    """The browser's name for the error of the last document that did not load."""
    _expected_until: float = 0.0
    """The time until which a navigation is expected to begin."""

    def ensure_usable(self) -> None:
        """Raise TabGone if the tab can no longer be used."""
        if self.gone:
            raise TabGone("a page closed it" if self.closed else "the page crashed")

    @property
    def busy(self) -> bool:
        """True if a pending request or navigation may change the page."""
        return bool(self.pending_requests or self.loading_frames) or time.monotonic() < self._expected_until

    @property
    def navigating(self) -> bool:
        """True if the tab's main frame is loading a document, or is expected to do so soon."""
        return self.id in self.loading_frames or time.monotonic() < self._expected_until

    def stop_waiting(self) -> None:
        """Stop waiting for pending requests and navigations."""
        self.pending_requests.clear()
        self.loading_frames.clear()
        self._expected_until = 0.0

    def expect_navigation(self) -> None:
        """Expect a navigation to begin within NAVIGATION_START_SECONDS."""
        self._expected_until = time.monotonic() + NAVIGATION_START_SECONDS

    def handle(self, method: str, params: Params) -> None:
        """Handle one event of the tab. ``method`` is the name of the event."""
        match method:
            case "Network.requestWillBeSent":
                self._add_request(params)
            case "Network.responseReceived":
                if params.get("type") == "Fetch":  # loadingFinished comes only after a script has read the body
                    self.pending_requests.pop(params["requestId"], None)
            case "Network.loadingFinished" | "Network.loadingFailed":
                self.pending_requests.pop(params["requestId"], None)
                if params.get("type") == "Document":  # only a failure has a type
                    self._error_name = str(params.get("errorText", "")).removeprefix("net::ERR_")
            case "Page.frameRequestedNavigation":
                if params.get("disposition") == "currentTab" and params["frameId"] == self.id:
                    self.expect_navigation()
            case "Page.frameStartedLoading":
                self._expected_until = 0.0
                self.loading_frames.add(params["frameId"])
            case "Page.frameStoppedLoading" | "Page.frameDetached":
                self._expected_until = 0.0
                self.loading_frames.discard(params["frameId"])
            case "Inspector.targetCrashed":
                self.gone = True
            case "Page.navigatedWithinDocument":
                self._expected_until = 0.0
            case "Page.frameNavigated":
                if params["frame"]["id"] == self.id:
                    self._change_document(params["frame"])

    def _add_request(self, params: Params) -> None:
        kind, request = params.get("type"), params["request"]
        if request["method"] not in SAFE_METHODS and kind not in ("CSPViolationReport", "Preflight"):
            self.may_have_changed_data = True
        if kind in AWAITED_TYPES:
            self.pending_requests[params["requestId"]] = request["url"]

    def _change_document(self, frame: Params) -> None:
        self.document = frame["loaderId"]
        missing = frame.get("unreachableUrl", "")
        self.load_failure = f"{quote(missing)} could not be loaded ({self._error_name})" if missing else ""
        requests = self.pending_requests.items()  # the request for a document has the document's loader id
        self.pending_requests = {request_id: url for request_id, url in requests if request_id == self.document}


@dataclass
class PendingEvents:
    """The events since the last observation, which the next observation reports."""

    sentences: dict[str, int] = field(default_factory=dict)
    """Maps each sentence to the number of times that its event occurred."""
    refused_navigations: list[str] = field(default_factory=list)
    """One sentence for each refused navigation, with the reason."""

    def add(self, sentence: str) -> None:
        """Add a sentence to the next observation, unless it already has MAX_SENTENCES others."""
        if sentence in self.sentences or len(self.sentences) < MAX_SENTENCES:
            self.sentences[sentence] = self.sentences.get(sentence, 0) + 1

    def lines(self) -> list[str]:
        """Return one line for each sentence. If a sentence is repeated, the number of times follows it."""
        return [f"{sentence} ({times} times)" if times > 1 else sentence for sentence, times in self.sentences.items()]


class TabGone(EnvironmentBroken):
    """A tab crashed, was closed, or no longer answers. The browser itself is still running."""


class BrowserContext:
    """A browser context that contains the tabs of one environment."""

    def __init__(self, browser: chromium.Browser, policy: AddressPolicy, patience: float) -> None:
        """``patience`` is the time in seconds that a page may take to load or to answer a command."""
        self.policy, self.patience = policy, patience
        self.events = PendingEvents()
        self.popups: list[TabTarget] = []
        """Tabs that pages opened, and that ``Browsing`` has not yet added to its tabs."""
        self._targets: dict[str, TabTarget] = {}
        """Maps the session id of a tab to the tab."""
        self._pending_popups = 0
        """Number of tabs that pages opened, but to which we are not yet connected."""
        self.connection = Connection(browser.url, on_event=self._handle)
        created = self.connection.call("Target.createBrowserContext", disposeOnDetach=True, **policy.proxy_settings())
        self._id = str(created["browserContextId"])
        self.connection.call(
            "Browser.setDownloadBehavior", behavior="deny", browserContextId=self._id, eventsEnabled=True
        )
        self.connection.call("Target.setDiscoverTargets", discover=True, filter=[{"type": "page"}])

    def close(self) -> None:
        """Discard the context with its tabs, cookies and storage. If the browser is gone, do nothing."""
        with suppress(EnvironmentBroken):
            self.connection.call("Target.disposeBrowserContext", browserContextId=self._id)
        self.connection.close()

    def set_cookies(self, cookies: Sequence[JsonValue]) -> None:
        """Set cookies, given in the form of ``Storage.setCookies``.

        Raises EnvironmentBroken if the browser refuses one.
        """
        try:
            self.connection.call("Storage.setCookies", browserContextId=self._id, cookies=[*cookies])
        except CommandRefused as error:
            raise EnvironmentBroken(f"the browser refuses a cookie of the login: {error}") from error

    def open_tab(self, hidden: bool = False) -> TabTarget:
        """Open and return an empty tab. Nothing is reported about a ``hidden`` tab."""
        created = self.connection.call("Target.createTarget", url=BLANK, browserContextId=self._id, newWindow=True)
        attached = self.connection.call("Target.attachToTarget", targetId=created["targetId"], flatten=True)
        target = TabTarget(str(created["targetId"]), str(attached["sessionId"]), hidden)
        self._targets[target.session] = target
        self.call_all(target, self._setup_commands())
        return target

    def close_tab(self, target: TabTarget) -> None:
        """Close a tab, even if it crashed or no longer answers."""
        target.gone = True
        self._targets.pop(target.session, None)
        with suppress(CommandRefused):
            self.connection.call("Target.closeTarget", targetId=target.id)

    def call(self, target: TabTarget, method: str, **parameters: JsonValue) -> Answer:
        """Send one command to a tab, and return the answer. Raises the same errors as ``call_all``."""
        return self.call_all(target, [(method, parameters)])[0]

    def call_all(self, target: TabTarget, commands: Sequence[Command]) -> list[Answer]:
        """Send commands to a tab, and return the answers in the same order.

        Raises CommandRefused if the browser refuses a command, TabGone if the tab cannot answer, or EnvironmentBroken
        if the browser is gone.
        """
        target.ensure_usable()
        try:
            return self.connection.call_all(commands, session=target.session, seconds=self.patience)
        except CommandRefused as error:
            if "Session with given id not found" not in str(error):
                raise
            target.gone = target.closed = True  # the event that reports this may arrive later
            raise TabGone("a page closed it") from error
        except NoAnswer as error:
            target.gone = True
            raise TabGone(f"the page did not answer for {self.patience:g} seconds") from error

    def wait_for_popup(self, target: TabTarget) -> str:
        """Wait until a tab that a page opened has loaded, and return the tab's address.

        The tab began to load before we connected to it, so we may have missed events and have to ask for its state.
        """
        tree, state = self.call_all(
            target, [("Page.getFrameTree", {}), ("Runtime.evaluate", {"expression": "document.readyState"})]
        )
        target.document = tree["frameTree"]["frame"]["loaderId"]
        if state["result"].get("value") != "complete":
            target.expect_navigation()
        self.finish_loading(target, target.document)
        return str(self.call(target, "Page.getNavigationHistory")["entries"][-1]["url"])

    def start_navigation(self, target: TabTarget, method: str, **parameters: JsonValue) -> None:
        """Send a command that starts a navigation. Call ``finish_loading`` to wait until the navigation ends."""
        target.expect_navigation()
        self.connection.post(method, target.session, **parameters)

    def finish_loading(self, target: TabTarget, previous_document: str) -> str:
        """Wait until a tab has settled. If a new page has not arrived after ``patience`` seconds, stop loading it.

        Return the reason why the page did not load. Return "" if it loaded or is still loading, or if there was nothing
        to load. ``previous_document`` is the document that the tab showed before the navigation.
        """
        if self.settle(target):
            return self._leave_error_page(target) if target.load_failure else ""
        if target.document != previous_document or not target.navigating:
            self.events.add(f"The page is still loading after {self.patience:g} seconds.")
            return ""
        self.call(target, "Page.stopLoading")
        target.stop_waiting()
        self.settle(target)
        return f"the page did not load within {self.patience:g} seconds"

    def _leave_error_page(self, target: TabTarget) -> str:
        """Go back from the browser's error page, and return a description of the error."""
        failure, target.load_failure = target.load_failure, ""
        history = self.call(target, "Page.getNavigationHistory")
        if history["currentIndex"]:
            previous = history["entries"][history["currentIndex"] - 1]["id"]
            self.start_navigation(target, "Page.navigateToHistoryEntry", entryId=previous)
            self.settle(target)
        return failure

    def settle(self, target: TabTarget) -> bool:
        """Wait until a tab has settled. Return False if that takes longer than ``patience``."""
        start = time.monotonic()
        while (elapsed := time.monotonic() - start) < self.patience:
            target.ensure_usable()
            received = self.connection.listen(QUIET_SECONDS)
            if not received and not target.busy:
                return True
            if elapsed > MAX_BUSY_SECONDS and not target.navigating:
                target.stop_waiting()
                return True
        return False

    def _setup_commands(self) -> list[Command]:
        """Return the commands that set up a new tab. ``_on_request_paused`` handles what ``Fetch.enable`` pauses."""
        checked = [{"urlPattern": pattern} for pattern in self.policy.request_patterns()]
        documents = [{"urlPattern": "*", "resourceType": "Document"}]
        return [
            ("Page.enable", {}),
            ("Inspector.enable", {}),
            ("Network.enable", {}),
            ("Emulation.setDeviceMetricsOverride", VIEW),
            ("Emulation.setFocusEmulationEnabled", {"enabled": True}),
            ("Page.setInterceptFileChooserDialog", {"enabled": True, "cancel": True}),
            ("Fetch.enable", {"patterns": [*checked, *documents]}),
        ]

    def _handle(self, event: Event) -> None:
        method, params = event["method"], event["params"]
        if handler := _BROWSER_HANDLERS.get(method):
            handler(self, params)
        elif (target := self._targets.get(event.get("sessionId", ""))) is not None:
            target.handle(method, params)
            if handler := _TAB_HANDLERS.get(method):
                handler(self, target, params)

    def _on_target_created(self, params: Params) -> None:
        info = params["targetInfo"]
        if info.get("browserContextId") == self._id and info.get("openerId") and info["type"] == "page":
            open_tabs = sum(not target.hidden for target in self._targets.values())
            if open_tabs + self._pending_popups >= MAX_TABS:
                self.connection.post("Target.closeTarget", targetId=info["targetId"])
                self.events.add(f"A page wanted to open a tab, which was not opened, since {MAX_TABS} tabs are open.")
            else:
                self._pending_popups += 1
                self.connection.post("Target.attachToTarget", targetId=info["targetId"], flatten=True)

    def _on_target_attached(self, params: Params) -> None:
        info = params["targetInfo"]
        if info.get("openerId") and info.get("browserContextId") == self._id:
            self._pending_popups -= 1
            popup = self._targets[params["sessionId"]] = TabTarget(info["targetId"], params["sessionId"])
            for method, parameters in self._setup_commands():
                self.connection.post(method, popup.session, **parameters)
            self.popups.append(popup)

    def _on_target_destroyed(self, params: Params) -> None:
        for target in list(self._targets.values()):
            if target.id == params["targetId"]:
                target.gone = target.closed = True
                self._targets.pop(target.session, None)

    def _on_download(self, params: Params) -> None:
        name = quote(str(params.get("suggestedFilename", "")), 80)
        self.events.add(f"The page wanted to download the file {name}; nothing is downloaded here.")

    def _on_dialog(self, target: TabTarget, params: Params) -> None:
        kind = str(params["type"])
        accepted, result = DIALOG_ANSWERS.get(kind, (False, "it was closed"))
        self.connection.post("Page.handleJavaScriptDialog", target.session, accept=accepted)
        if target.hidden:
            return
        report = f" said {quote(str(params['message']), 300)}" if params["message"] else " came up"
        self.events.add(f"A dialog ({kind}){report}; {result}.")

    def _on_file_chooser(self, target: TabTarget, _: Params) -> None:
        if not target.hidden:
            self.events.add("The page asked for a file; there is none to give.")

    def _on_request_paused(self, target: TabTarget, params: Params) -> None:
        """Allow or refuse a paused request.

        A refused request for a document is answered with "204 No Content", so that the tab keeps its page.
        """
        request, url = params["requestId"], str(params["request"]["url"])
        if self.policy.allows_request(url):
            self.connection.post("Fetch.continueRequest", target.session, requestId=request)
        elif params.get("resourceType") == "Document":
            self.connection.post("Fetch.fulfillRequest", target.session, requestId=request, responseCode=204)
            if params["frameId"] == target.id and not target.hidden:
                target.has_refused_navigation = True
                self.events.refused_navigations.append(f"{quote(url)} was not opened: {self.policy.refusal(url)}")
        else:
            self.connection.post("Fetch.failRequest", target.session, requestId=request, errorReason="BlockedByClient")


_BROWSER_HANDLERS: Mapping[str, Any] = {
    "Target.targetCreated": BrowserContext._on_target_created,
    "Target.attachedToTarget": BrowserContext._on_target_attached,
    "Target.targetDestroyed": BrowserContext._on_target_destroyed,
    "Browser.downloadWillBegin": BrowserContext._on_download,
}
_TAB_HANDLERS: Mapping[str, Any] = {
    "Page.javascriptDialogOpening": BrowserContext._on_dialog,
    "Page.fileChooserOpened": BrowserContext._on_file_chooser,
    "Fetch.requestPaused": BrowserContext._on_request_paused,
}
