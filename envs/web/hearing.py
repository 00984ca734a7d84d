"""What the browser tells of the tabs of one world, and what is answered to it at once."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from planbook.envs.browser import chromium
from planbook.envs.browser.devtools import Answer, Command, Connection, Event
from planbook.envs.web.addresses import Gate
from planbook.envs.web.traffic import Params, Traffic
from planbook.envs.web.writing import quoted

VIEW: Mapping[str, JsonValue] = {"width": 1280, "height": 720, "deviceScaleFactor": 1, "mobile": False}
MOST_TABS = 8
TOLD_DIALOGS = 3
ANSWERED: Mapping[str, tuple[bool, str]] = {
    "alert": (True, "it was closed"),
    "confirm": (True, "it was answered with OK"),
    "prompt": (False, "it was cancelled"),
    "beforeunload": (True, "the page was left"),
}
"""By kind of dialog: whether it is accepted, and how that is told."""


@dataclass
class Target:
    """One tab of the browser."""

    id: str
    session: str
    traffic: Traffic
    hidden: bool = False
    refused: bool = False
    """Whether it was kept from going somewhere."""
    gone: bool = False
    closed: bool = False
    """Whether it is not even there any more: its page, or the browser, closed it."""


@dataclass
class News:
    """What happened unasked since it was last told."""

    told: dict[str, int] = field(default_factory=dict)
    """Sentences, and how often each was to be told."""
    refused: list[str] = field(default_factory=list)
    """Why a tab did not go where it was to go."""
    dialogs: int = 0

    def taken(self) -> "News":
        """What there is, and from now on nothing of it."""
        taken = News(self.told, self.refused, self.dialogs)
        self.told, self.refused, self.dialogs = {}, [], 0
        return taken

    def tell(self, sentence: str) -> None:
        """Tell this with the next look."""
        self.told[sentence] = self.told.get(sentence, 0) + 1

    def lines(self) -> list[str]:
        """A line for each sentence."""
        return [f"{told} ({times} times)" if times > 1 else told for told, times in self.told.items()]


class Hearing:
    """A browser context: the tabs that there are in it, and what became known of them unasked.

    ``popups`` holds those that pages opened, until the world takes them.
    """

    def __init__(self, browser: chromium.Browser, gate: Gate) -> None:
        self.gate = gate
        self.news = News()
        self.popups: list[Target] = []
        self._targets: dict[str, Target] = {}
        self._awaited = 0
        self._origins: set[str] = set()
        self.connection = Connection(browser.url, heard=self._hear)
        made = self._browser("Target.createBrowserContext", disposeOnDetach=True, **gate.proxy())
        self._id = str(made["browserContextId"])
        self._browser("Browser.setDownloadBehavior", behavior="deny", browserContextId=self._id, eventsEnabled=True)
        self._browser("Target.setDiscoverTargets", discover=True, filter=[{"type": "page"}])

    def _browser(self, method: str, **parameters: JsonValue) -> Answer:
        return self.connection.call_all([(method, parameters)])[0]

    def _know(self, target_id: str, session: str, hidden: bool = False) -> Target:
        target = self._targets[session] = Target(target_id, session, Traffic(target_id), hidden)
        return target

    def _preparations(self) -> list[Command]:
        watched = [{"urlPattern": pattern} for pattern in self.gate.watched()]
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

    def _hear(self, event: Event) -> None:
        method, params = event["method"], event["params"]
        if handler := _OF_BROWSER.get(method):
            handler(self, params)
        elif (target := self._targets.get(event.get("sessionId", ""))) is not None:
            target.traffic.hear(method, params)
            if method == "Page.frameNavigated":
                self._origins.add(str(params["frame"].get("securityOrigin", "")))
            if handler := _OF_TAB.get(method):
                handler(self, target, params)

    def _created(self, params: Params) -> None:
        info = params["targetInfo"]
        if info.get("browserContextId") == self._id and info.get("openerId") and info["type"] == "page":
            there = sum(not target.hidden for target in self._targets.values())
            if there + self._awaited >= MOST_TABS:
                self.connection.post("Target.closeTarget", targetId=info["targetId"])
                self.news.tell(f"A page wanted to open one more tab; {MOST_TABS} are open, it was not opened.")
            else:
                self._awaited += 1
                self.connection.post("Target.attachToTarget", targetId=info["targetId"], flatten=True)

    def _attached(self, params: Params) -> None:
        info = params["targetInfo"]
        if info.get("openerId") and info.get("browserContextId") == self._id:
            self._awaited -= 1
            popup = self._know(info["targetId"], params["sessionId"])
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
        self.news.tell(f"The page wanted to download the file {name}; nothing is downloaded here.")

    def _crashed(self, target: Target, _: Params) -> None:
        target.gone = True

    def _dialog(self, target: Target, params: Params) -> None:
        kind = str(params["type"])
        accepted, how = ANSWERED.get(kind, (False, "it was closed"))
        self.connection.post("Page.handleJavaScriptDialog", target.session, accept=accepted)
        if target.hidden:
            return
        self.news.dialogs += 1
        if self.news.dialogs <= TOLD_DIALOGS:
            said = f" said {quoted(str(params['message']), 300)}" if params["message"] else " came up"
            self.news.tell(f"A dialog ({kind}){said}; {how}.")

    def _paused(self, target: Target, params: Params) -> None:
        """A request waits for leave. Where a document may not come, an empty answer leaves the page where it is."""
        request, url = params["requestId"], str(params["request"]["url"])
        document = params.get("resourceType") == "Document"
        if not (why := "" if self.gate.lets(url) else self.gate.why_not(url)):
            self.connection.post("Fetch.continueRequest", target.session, requestId=request)
        elif document:
            self.connection.post("Fetch.fulfillRequest", target.session, requestId=request, responseCode=204)
            if params["frameId"] == target.traffic.frame and not target.hidden:
                target.refused = True
                self.news.refused.append(f"{quoted(url)} was not opened: {why}")
        else:
            self.connection.post("Fetch.failRequest", target.session, requestId=request, errorReason="BlockedByClient")


_OF_BROWSER: Mapping[str, Any] = {
    "Target.targetCreated": Hearing._created,
    "Target.attachedToTarget": Hearing._attached,
    "Target.targetDestroyed": Hearing._destroyed,
    "Browser.downloadWillBegin": Hearing._download,
}
_OF_TAB: Mapping[str, Any] = {
    "Inspector.targetCrashed": Hearing._crashed,
    "Page.javascriptDialogOpening": Hearing._dialog,
    "Fetch.requestPaused": Hearing._paused,
}
