"""One tab: navigate it, and use mouse and keyboard on its page."""

from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from planbook.envs.browser import devtools
from planbook.envs.browser.devtools import Answer, Command, CommandRefused
from planbook.envs.web.context import Context, TabTarget
from planbook.envs.web.page import PAGE, ElementRef, Trail, trail_of

MAX_TYPED = 100
"""Maximum number of characters that are typed key by key. A longer text is inserted in one go."""


@dataclass
class WebTab:
    """A tab of the environment.

    A restored tab is a new tab of the browser, whose history is empty. Its earlier history is kept here.
    """

    context: Context
    target: TabTarget
    earlier_urls: list[str] = field(default_factory=list)
    """Addresses that precede those of the browser's history."""
    later_urls: list[str] = field(default_factory=list)
    """Addresses that follow those of the browser's history."""

    # Navigating.

    def load(self, url: str) -> str:
        """Start navigating to an address. Return the reason if it may not be opened, or ""."""
        if reason := self.context.policy.refusal(url):
            return reason
        self.context.start_navigation(self.target, "Page.navigate", url=url)
        return ""

    def fetch(self, url: str) -> str:
        """Navigate to an address and wait for its page. Return the reason if it did not load, or ""."""
        document = self.target.traffic.document
        return self.load(url) or self.context.finish_loading(self.target, document)

    def trail(self, browser_trail: Trail | None = None) -> Trail:
        """Return the tab's complete history.

        ``browser_trail`` is the browser's part of it, which is read from the browser if it is None.
        """
        browser_trail = browser_trail or trail_of(self._history())
        later = self.later_urls if len(browser_trail.urls) == 1 else []  # a new navigation removes the forward history
        return Trail([*self.earlier_urls, *browser_trail.urls, *later], len(self.earlier_urls) + browser_trail.index)

    def step(self, delta: int) -> bool:
        """Go one page back (-1) or forward (1) in the browser's history. Return False if there is no such page."""
        history = self._history()
        browser_trail, index = trail_of(history), history["currentIndex"] + delta
        if exists := 0 <= browser_trail.index + delta < len(browser_trail.urls):
            entry = history["entries"][index]
            self.context.start_navigation(self.target, "Page.navigateToHistoryEntry", entryId=entry["id"])
        return exists

    def _history(self) -> Answer:
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

        Like the other actions below, it returns an answer that has the key ``refused`` if nothing could be done. Its
        value is the reason, without the subject of the sentence ("is hidden").
        """
        point = self.ask(ref, "aim")
        if "refused" not in point:
            self.context.call_all(self.target, devtools.click_commands(point["x"], point["y"]))
        return point

    def type(self, ref: ElementRef, text: str, enter: bool) -> dict[str, Any]:
        """Replace the content of a field with a text."""
        field_ = self.ask(ref, "field")
        if "refused" in field_:
            return field_
        if "\n" in text and not field_["lines"]:
            return {"refused": "is a field of one line, and the text has several"}
        if field_["way"] == "set":
            answer = self.ask(ref, "set", text)
            if "refused" in answer:
                return {"refused": f"{answer['refused']} ({_FORMATS.get(field_['type'], 'a number')})"}
        else:
            point = self.click(ref)
            content = point if "refused" in point else self.ask(ref, "selectContent")
            if "refused" in content:
                return content
            delete = list(devtools.KEYS["delete"].commands()) if content["full"] else []
            insert: Command = ("Input.insertText", {"text": text})
            typed = list(devtools.typing_commands(text)) if len(text) <= MAX_TYPED else [insert]
            self.context.call_all(self.target, [*delete, *typed])
        if enter and not field_["area"]:
            self.context.call_all(self.target, list(devtools.KEYS["enter"].commands()))
        return {}

    def scroll(self, sign: int, ref: ElementRef | None) -> dict[str, Any]:
        """Scroll the part of the page that contains the element, or the whole page, down (1) or up (-1)."""
        if ref is not None:
            return self.ask(ref, "scroll", sign)
        world = self.context.isolated_world(self.target, self.target.traffic.frame)
        return dict(self.value(f"{PAGE}.scroll(null, {sign})", contextId=world) or {})

    # Scripts.

    def ask(self, ref: ElementRef, function: str, *arguments: JsonValue) -> dict[str, Any]:
        """Call one of our functions in ``page.js`` on an element and return its answer."""
        try:
            world = self.context.isolated_world(self.target, ref.frame)
            object_id = self.context.call(
                self.target, "DOM.resolveNode", backendNodeId=ref.backend, executionContextId=world
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

    def value(self, expression: str, **options: JsonValue) -> Any:
        """Return the value of a JavaScript expression in the page, or None if it raises an error."""
        answer = self.context.call(
            self.target, "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True, **options
        )
        return None if "exceptionDetails" in answer else answer["result"].get("value")


_FORMATS = {
    "date": "a date is written 2024-05-31",
    "time": "a time is written 17:05",
    "datetime-local": "it is written 2024-05-31T17:05",
    "month": "a month is written 2024-05",
    "week": "a week is written 2024-W22",
    "color": "a colour is written #1a2b3c",
}
"""Maps the type of an input field to a hint on how its values are written."""
