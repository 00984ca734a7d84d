"""One tab: navigation, and mouse and keyboard on its page."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from planbook.envs.browser import devtools
from planbook.envs.browser.devtools import Answer, Command, CommandRefused
from planbook.envs.web.context import Context, TabTarget
from planbook.envs.web.page import PAGE, ElementRef, Trail, trail_of

MAX_TYPED = 100
"""Maximum characters typed key by key; a longer text is inserted as a whole."""
WORLD = "planbook"


@dataclass
class WebTab:
    """A tab of the environment. ``before`` and ``after`` are addresses that extend the browser's history.

    They are needed since a restored tab is a new tab of the browser, whose history is empty.
    """

    context: Context
    target: TabTarget
    before: list[str] = field(default_factory=list)
    after: list[str] = field(default_factory=list)

    # Navigating.

    def load(self, url: str) -> str:
        """Start navigating to an address; return why it may not be opened, or ""."""
        if why := self.context.policy.why_not(url):
            return why
        self.context.travel(self.target, "Page.navigate", url=url)
        return ""

    def fetch(self, url: str) -> str:
        """Navigate to an address and wait for its page; return why it did not load, or ""."""
        document = self.target.traffic.document
        return self.load(url) or self.context.finish_loading(self.target, document)

    def trail(self, own: Trail | None = None) -> Trail:
        """Return the whole history: the browser's ``own`` (None: read it), and what comes before and after it."""
        own = own or trail_of(self._history())
        after = self.after if len(own.urls) == 1 else []  # a new navigation ends the way forward
        return Trail([*self.before, *own.urls, *after], len(self.before) + own.at)

    def step(self, by: int) -> bool:
        """Navigate one page back (-1) or forward (1) in the browser's history; return False if there is none."""
        history = self._history()
        own, at = trail_of(history), history["currentIndex"] + by
        exists = 0 <= own.at + by < len(own.urls)
        if exists:
            self.context.travel(self.target, "Page.navigateToHistoryEntry", entryId=history["entries"][at]["id"])
        return exists

    def _history(self) -> Answer:
        return self.context.call(self.target, "Page.getNavigationHistory")

    def scrolled(self) -> tuple[float, float]:
        """Return the scroll position of the page in pixels: x, y."""
        viewport = self.context.call(self.target, "Page.getLayoutMetrics")["cssVisualViewport"]
        return float(viewport["pageX"]), float(viewport["pageY"])

    def scroll_to(self, x: float, y: float) -> None:
        """Scroll the page to a position, as far as possible."""
        self.value(f"scrollTo({{left: {x}, top: {y}, behavior: 'instant'}})")
        self.context.settle(self.target)

    # Mouse and keyboard.

    def click(self, place: ElementRef) -> dict[str, Any]:
        """Click on the visible part of an element. The answer has ``refused`` if this is not possible."""
        point = self.ask(place, "aim")
        if "refused" not in point:
            self.send(devtools.click_commands(point["x"], point["y"]))
        return point

    def type(self, place: ElementRef, text: str, enter: bool) -> dict[str, Any]:
        """Replace the content of a field with a text; the answer may have ``refused``."""
        field_ = self.ask(place, "field")
        if "refused" in field_:
            return field_
        if "\n" in text and not field_["lines"]:
            return {"refused": "is a field of one line, and the text has several"}
        if field_["way"] == "set":
            answer = self.ask(place, "set", text)
            if "refused" in answer:
                return {"refused": f"{answer['refused']} ({_FORMATS.get(field_['type'], 'a number')})"}
        else:
            point = self.ask(place, "aim")
            if "refused" in point:
                return point
            self.send(devtools.click_commands(point["x"], point["y"]))
            content = self.ask(place, "selectContent")
            if "refused" in content:
                return content
            delete = list(devtools.KEYS["delete"].commands()) if content["full"] else []
            insert: Command = ("Input.insertText", {"text": text})
            typed = list(devtools.typing_commands(text)) if len(text) <= MAX_TYPED else [insert]
            self.send([*delete, *typed])
        if enter and not field_["area"]:
            self.send(list(devtools.KEYS["enter"].commands()))
        return {}

    def choose(self, place: ElementRef, option: str) -> dict[str, Any]:
        """Choose an option of a select box; the answer may have ``refused``."""
        return self.ask(place, "choose", option)

    def scroll(self, sign: int, place: ElementRef | None) -> dict[str, Any]:
        """Scroll down (1) or up (-1); the answer may have ``refused``."""
        if place is not None:
            return self.ask(place, "scroll", sign)
        world = self._isolated_world(self.target.traffic.frame)
        return dict(self._evaluate(f"{PAGE}.scroll(null, {sign})", contextId=world) or {})

    def send(self, commands: Sequence[Command]) -> None:
        """Send mouse and keyboard events."""
        self.context.call_all(self.target, commands)

    # Scripts.

    def ask(self, place: ElementRef, function: str, *arguments: JsonValue) -> dict[str, Any]:
        """Call one of our functions (page.js) on an element and return its answer."""
        try:
            world = self._isolated_world(place.frame)
            object_id = self.context.call(
                self.target, "DOM.resolveNode", backendNodeId=place.backend, executionContextId=world
            )["object"]["objectId"]
        except CommandRefused:
            return {"refused": "is no longer on the page"}
        declaration = f"function (...args) {{ return {PAGE}.{function}(this, ...args); }}"
        answer = self.context.call(
            self.target,
            "Runtime.callFunctionOn",
            functionDeclaration=declaration,
            objectId=object_id,
            arguments=[{"value": argument} for argument in arguments],
            returnByValue=True,
        )
        if problem := answer.get("exceptionDetails"):
            reason = str(problem.get("exception", {}).get("description", problem.get("text")))
            raise CommandRefused(f"a script of planbook failed in the page: {reason}")
        return dict(answer["result"].get("value") or {})

    def value(self, expression: str) -> JsonValue:
        """Return the value of an expression in the page; None if it fails."""
        value: JsonValue = self._evaluate(expression)
        return value

    def _evaluate(self, expression: str, **options: JsonValue) -> Any:
        answer = self.context.call(
            self.target, "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True, **options
        )
        return None if "exceptionDetails" in answer else answer["result"].get("value")

    def _isolated_world(self, frame: str) -> int:
        world = self.context.call(self.target, "Page.createIsolatedWorld", frameId=frame, worldName=WORLD)
        return int(world["executionContextId"])


_FORMATS = {
    "date": "a date is written 2024-05-31",
    "time": "a time is written 17:05",
    "datetime-local": "it is written 2024-05-31T17:05",
    "month": "a month is written 2024-05",
    "week": "a week is written 2024-W22",
    "color": "a colour is written #1a2b3c",
}
