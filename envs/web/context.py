"""A browser context: tabs with separate cookies and storage, and the browser's events about them."""

import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from planbook.envs.browser import chromium
from planbook.envs.browser.devtools import Answer, Command, CommandRefused, Connection, Event, NoAnswer
from planbook.envs.errors import EnvironmentBroken
from planbook.envs.web.accessibility import quoted
from planbook.envs.web.addresses import BLANK, AddressPolicy
from planbook.envs.web.traffic import Params, Traffic

VIEW: Mapping[str, JsonValue] = {"width": 1280, "height": 720, "deviceScaleFactor": 1, "mobile": False}
MAX_TABS = 8
MAX_DIALOGS = 3
"""Maximum number of dialogs that an observation reports."""
ANSWERED: Mapping[str, tuple[bool, str]] = {
    "alert": (True, "it was closed"),
    "confirm": (True, "it was answered with OK"),
    "prompt": (False, "it was cancelled"),
    "beforeunload": (True, "the page was left"),
}
"""Maps a kind of dialog to the answer: True to accept it, and the text that reports this."""


@dataclass
class TabTarget:
    """One tab of the browser."""

    id: str
    session: str
    traffic: Traffic
    hidden: bool = False
    refused: bool = False
    """True if one of its navigations was refused."""
    gone: bool = False
    closed: bool = False
    """True if its page or the browser closed it."""

    def check(self) -> None:
        """Raise TabGone if it is gone."""
        if self.gone:
            raise TabGone("a page closed it" if self.closed else "the page crashed")


@dataclass
class News:
    """Events since the last observation."""

    sentences: dict[str, int] = field(default_factory=dict)
    """Sentences to report, with the number of times that each occurred."""
    refused: list[str] = field(default_factory=list)
    """The reasons why navigations were refused."""
    dialogs: int = 0

    def add(self, sentence: str) -> None:
        """Add a sentence to report in the next observation."""
        self.sentences[sentence] = self.sentences.get(sentence, 0) + 1

    def lines(self) -> list[str]:
        """Return a line for each sentence."""
        return [f"{sentence} ({times} times)" if times > 1 else sentence for sentence, times in self.sentences.items()]


QUIET = 0.03
"""Seconds without events after which a page without pending requests counts as settled."""
RESTLESS = 1.5
"""Seconds after which a busy page that does not navigate is read as it is."""


class TabGone(EnvironmentBroken):
    """The tab of an action crashed, was closed, or no longer answers; the browser itself is alive."""


class Context:
    """The tabs of one environment, in a separate browser context.

    ``popups`` holds the tabs that pages opened, until the environment takes them over.
    """

    def __init__(self, browser: chromium.Browser, policy: AddressPolicy, patience: float) -> None:
        """``patience`` is the time in seconds that a page may take to load or to answer a command."""
        self.policy, self.patience = policy, patience
        self.news = News()
        self.popups: list[TabTarget] = []
        self._targets: dict[str, TabTarget] = {}
        self._awaited = 0
        self.connection = Connection(browser.url, on_event=self._handle)
        created = self.connection.call("Target.createBrowserContext", disposeOnDetach=True, **policy.proxy())
        self._id = str(created["browserContextId"])
        self.connection.call(
            "Browser.setDownloadBehavior", behavior="deny", browserContextId=self._id, eventsEnabled=True
        )
        self.connection.call("Target.setDiscoverTargets", discover=True, filter=[{"type": "page"}])

    def close(self) -> None:
        """Dispose of the context with its tabs, cookies and storage; harmless if the browser is gone."""
        with suppress(EnvironmentBroken):
            self.connection.call("Target.disposeBrowserContext", browserContextId=self._id)
        self.connection.close()

    def set_cookies(self, cookies: Sequence[JsonValue]) -> None:
        """Set cookies in the form of ``Storage.setCookies``. Raises EnvironmentBroken if one is refused."""
        try:
            self.connection.call("Storage.setCookies", browserContextId=self._id, cookies=[*cookies])
        except CommandRefused as error:
            raise EnvironmentBroken(f"the browser refuses a cookie of the login: {error}") from error

    def open(self, hidden: bool = False) -> TabTarget:
        """Open and return an empty tab. A ``hidden`` one reports no news."""
        created = self.connection.call("Target.createTarget", url=BLANK, browserContextId=self._id, newWindow=True)
        attached = self.connection.call("Target.attachToTarget", targetId=created["targetId"], flatten=True)
        target = self._register(str(created["targetId"]), str(attached["sessionId"]), hidden)
        self.call_all(target, self._preparations())
        return target

    def drop(self, target: TabTarget) -> None:
        """Close a tab, whatever its state."""
        target.gone = True
        self._targets.pop(target.session, None)
        with suppress(CommandRefused):
            self.connection.call("Target.closeTarget", targetId=target.id)

    def call(self, target: TabTarget, method: str, **parameters: JsonValue) -> Answer:
        """Return a command's answer. Raises CommandRefused, TabGone, or EnvironmentBroken if the browser is gone."""
        return self.call_all(target, [(method, parameters)])[0]

    def call_all(self, target: TabTarget, commands: Sequence[Command]) -> list[Answer]:
        """Return a tab's answers to several commands, in order."""
        target.check()
        try:
            return self.connection.call_all(commands, session=target.session, seconds=self.patience)
        except NoAnswer as error:
            target.gone = True
            raise TabGone(f"the page did not answer for {self.patience:g} seconds") from error

    def catch_up(self, target: TabTarget) -> str:
        """Read the state of a tab that a page opened, wait until it settles, and return its address."""
        tree, state = self.call_all(
            target, [("Page.getFrameTree", {}), ("Runtime.evaluate", {"expression": "document.readyState"})]
        )
        target.traffic.document = tree["frameTree"]["frame"]["loaderId"]
        if state["result"].get("value") != "complete":
            target.traffic.announce()
        self.finish_loading(target, target.traffic.document)
        return str(self.call(target, "Page.getNavigationHistory")["entries"][-1]["url"])

    def travel(self, target: TabTarget, method: str, **parameters: JsonValue) -> None:
        """Start a navigation with a command; ``finish_loading`` waits for its end."""
        target.traffic.announce()
        self.connection.post(method, target.session, **parameters)

    def finish_loading(self, target: TabTarget, document: str) -> str:
        """Wait until a tab has settled, and stop a page that does not load.

        Return why the page did not load; empty if it did, or if no page was loading.
        """
        if self.settle(target):
            return self._turn_back(target) if target.traffic.failed else ""
        if target.traffic.document != document or not target.traffic.moving:
            self.news.add(f"The page is still loading after {self.patience:g} seconds.")
            return ""
        self.call(target, "Page.stopLoading")
        target.traffic.forget()
        self.settle(target)
        return f"the page did not load within {self.patience:g} seconds"

    def _turn_back(self, target: TabTarget) -> str:
        """Go back from the browser's error page; return a description of the error."""
        failed, target.traffic.failed = target.traffic.failed, ""
        history = self.call(target, "Page.getNavigationHistory")
        if history["currentIndex"]:
            before = history["entries"][history["currentIndex"] - 1]["id"]
            self.travel(target, "Page.navigateToHistoryEntry", entryId=before)
            self.settle(target)
        return failed

    def settle(self, target: TabTarget) -> bool:
        """Wait until nothing more happens; return False if that takes longer than ``patience``."""
        start = time.monotonic()
        while (elapsed := time.monotonic() - start) < self.patience:
            target.check()
            received = self.connection.listen(QUIET)
            if not received and not target.traffic.busy:
                return True
            if elapsed > RESTLESS and not target.traffic.moving:
                target.traffic.forget()
                return True
        return False

    def _register(self, target_id: str, session: str, hidden: bool = False) -> TabTarget:
        target = self._targets[session] = TabTarget(target_id, session, Traffic(target_id), hidden)
        return target

    def _preparations(self) -> list[Command]:
        watched = [{"urlPattern": pattern} for pattern in self.policy.watched()]
        documents = [{"urlPattern": "*", "resourceType": "Document"}]
        return [
            ("Page.enable", {}),
            ("Inspector.enable", {}),
            ("Network.enable", {}),
            ("Emulation.setDeviceMetricsOverride", VIEW),
            ("Emulation.setFocusEmulationEnabled", {"enabled": True}),
            ("Page.setInterceptFileChooserDialog", {"enabled": True, "cancel": True}),
            ("Fetch.enable", {"patterns": [*watched, *documents]}),
        ]

    # Events.

    def _handle(self, event: Event) -> None:
        method, params = event["method"], event["params"]
        if handler := _BROWSER_HANDLERS.get(method):
            handler(self, params)
        elif (target := self._targets.get(event.get("sessionId", ""))) is not None:
            target.traffic.handle(method, params)
            if handler := _TAB_HANDLERS.get(method):
                handler(self, target, params)

    def _created(self, params: Params) -> None:
        info = params["targetInfo"]
        if info.get("browserContextId") == self._id and info.get("openerId") and info["type"] == "page":
            open_tabs = sum(not target.hidden for target in self._targets.values())
            if open_tabs + self._awaited >= MAX_TABS:
                self.connection.post("Target.closeTarget", targetId=info["targetId"])
                self.news.add(f"A page wanted to open one more tab; {MAX_TABS} are open, it was not opened.")
            else:
                self._awaited += 1
                self.connection.post("Target.attachToTarget", targetId=info["targetId"], flatten=True)

    def _attached(self, params: Params) -> None:
        info = params["targetInfo"]
        if info.get("openerId") and info.get("browserContextId") == self._id:
            self._awaited -= 1
            popup = self._register(info["targetId"], params["sessionId"])
            for method, parameters in self._preparations():
                self.connection.post(method, popup.session, **parameters)
            self.popups.append(popup)

    def _destroyed(self, params: Params) -> None:
        for target in list(self._targets.values()):
            if target.id == params["targetId"]:
                target.gone = target.closed = True
                self._targets.pop(target.session, None)

    def _download(self, params: Params) -> None:
        name = quoted(str(params.get("suggestedFilename", "")), 80)
        self.news.add(f"The page wanted to download the file {name}; nothing is downloaded here.")

    def _crashed(self, target: TabTarget, _: Params) -> None:
        target.gone = True

    def _dialog(self, target: TabTarget, params: Params) -> None:
        kind = str(params["type"])
        accepted, result = ANSWERED.get(kind, (False, "it was closed"))
        self.connection.post("Page.handleJavaScriptDialog", target.session, accept=accepted)
        if target.hidden:
            return
        self.news.dialogs += 1
        if self.news.dialogs <= MAX_DIALOGS:
            event = f" said {quoted(str(params['message']), 300)}" if params["message"] else " came up"
            self.news.add(f"A dialog ({kind}){event}; {result}.")
        elif self.news.dialogs == MAX_DIALOGS + 1:
            self.news.add("More dialogs came up and were answered.")

    def _file_chooser(self, target: TabTarget, _: Params) -> None:
        if not target.hidden:
            self.news.add("The page asked for a file; there is none to give.")

    def _paused(self, target: TabTarget, params: Params) -> None:
        """Answer a paused request. A refused document gets an empty answer, which leaves the page where it is."""
        request, url = params["requestId"], str(params["request"]["url"])
        if self.policy.allows_request(url):
            self.connection.post("Fetch.continueRequest", target.session, requestId=request)
        elif params.get("resourceType") == "Document":
            self.connection.post("Fetch.fulfillRequest", target.session, requestId=request, responseCode=204)
            if params["frameId"] == target.traffic.frame and not target.hidden:
                target.refused = True
                self.news.refused.append(f"{quoted(url)} was not opened: {self.policy.why_not(url)}")
        else:
            self.connection.post("Fetch.failRequest", target.session, requestId=request, errorReason="BlockedByClient")


_BROWSER_HANDLERS: Mapping[str, Any] = {
    "Target.targetCreated": Context._created,
    "Target.attachedToTarget": Context._attached,
    "Target.targetDestroyed": Context._destroyed,
    "Browser.downloadWillBegin": Context._download,
}
_TAB_HANDLERS: Mapping[str, Any] = {
    "Inspector.targetCrashed": Context._crashed,
    "Page.javascriptDialogOpening": Context._dialog,
    "Page.fileChooserOpened": Context._file_chooser,
    "Fetch.requestPaused": Context._paused,
}
