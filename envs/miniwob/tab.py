"""A browser tab that shows one MiniWoB++ page at a time.

Our script ``page.js`` runs in every page. This module calls the script's functions.
"""

import json
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import count
from pathlib import Path

from pydantic import JsonValue

from planbook.envs import chromium, devtools
from planbook.envs.devtools import Answer, Command, click_commands, mouse_event
from planbook.envs.errors import EnvironmentBroken

WINDOW: Mapping[str, JsonValue] = {"width": 640, "height": 480, "deviceScaleFactor": 1, "mobile": False}
"""The size of the tab's window, in pixels."""
MOUSE_START = (639.0, 479.0)
"""A point outside the page's content. It is clicked at the start of an episode, to close open menus."""
EPISODE_MILLISECONDS = 2_000_000_000
"""Milliseconds after which a page ends its episode: nearly the most that a timer in a browser allows."""
DATA_MODE = "train"
"""miniwob's name for the set of sentences from which pages choose the wording of a goal. It is miniwob's default."""
DRAG_STEPS = 8
"""Number of mouse movements while an element is dragged."""
LOAD_SECONDS = 60
"""Maximum number of seconds that a page may take to load."""


SCRIPT = Path(__file__).with_name("page.js").read_text(encoding="utf-8")


@dataclass(frozen=True, slots=True)
class PageState:
    """The state of a page after an action."""

    html: str
    done: bool
    """True if the page has ended the episode."""
    reward: float
    """The raw reward. Valid only if ``done`` is True."""
    refused: str = ""
    """The reason why the action was refused, or "" if it was carried out."""
    goal: str = ""
    """The goal of the task. Set only at the start of an episode."""
    fields: dict[str, str] | None = None
    """The values in the goal, if the page publishes them. Set only at the start of an episode."""


class MiniwobTab:
    """A browser tab and the page in it. Every action returns the page's new state.

    Points are in CSS pixels, measured from the page's upper left corner.
    """

    def __init__(self, browser: chromium.Browser) -> None:
        self._browser = browser
        self._target, self._connection = browser.open_tab()
        self._url = ""
        self._numbers = count(1)
        self._episode = 0
        self._connection.call_all(
            [
                ("Page.enable", {}),
                ("Inspector.enable", {}),
                ("Page.addScriptToEvaluateOnNewDocument", {"source": SCRIPT}),
                ("Emulation.setDeviceMetricsOverride", WINDOW),
                ("Emulation.setFocusEmulationEnabled", {"enabled": True}),
            ]
        )

    def close(self) -> None:
        """Close the tab. If the browser is gone, do nothing."""
        self._connection.close()
        self._browser.close_tab(self._target)

    def begin(self, url: str, seed: int, reload: bool) -> PageState:
        """Start an episode. Load the page first if the tab shows another page, or if ``reload`` is True."""
        if reload or url != self._url:
            self._load(url)
        self._episode = next(self._numbers)
        self._connection.call_all(click_commands(*MOUSE_START))  # a mouse move alone would wait for the next frame
        return PageState(**self._call_for_object("begin", self._episode, seed, DATA_MODE, EPISODE_MILLISECONDS))

    def find(self, xpath: str) -> JsonValue:
        """Return descriptions of the elements that an XPath matches. An invalid XPath matches nothing."""
        return self._call("find", xpath)

    def click(self, xpath: str) -> PageState:
        """Click on the visible part of the element."""
        return self._send_at(self._call_for_object("locate", xpath), click_commands)

    def click_option(self, xpath: str) -> PageState:
        """Choose an ``<option>`` of a list. If the XPath matches another kind of element, click on it."""
        point = self._call_for_object("locateOption", xpath)
        return self._do("choose", xpath) if point.get("option") else self._send_at(point, click_commands)

    def click_at(self, xpath: str, x: float, y: float) -> PageState:
        """Click at a point of the element, measured from its upper left corner."""
        return self._send_at(self._call_for_object("locatePoint", xpath, x, y), click_commands)

    def hover(self, xpath: str) -> PageState:
        """Move the mouse onto the element."""
        return self._send_at(self._call_for_object("locate", xpath), lambda x, y: [mouse_event("mouseMoved", x, y)])

    def drag(self, from_xpath: str, to_xpath: str) -> PageState:
        """Drag from one element to another."""
        start, end = self._call_for_object("locate", from_xpath), self._call_for_object("locate", to_xpath)
        if "refused" in end:
            return PageState(**end)
        return self._send_at(start, lambda x, y: _drag(x, y, end["x"], end["y"]))

    def select_text(self, xpath: str) -> PageState:
        """Select all text of the element."""
        return self._do("selectText", xpath)

    def scroll(self, xpath: str, dy: float) -> PageState:
        """Scroll the element, or the nearest element around it that can be scrolled, down by ``dy`` pixels."""
        return self._do("scroll", xpath, dy)

    def type(self, text: str) -> PageState:
        """Type into the field that has the focus."""
        answer = self._call_for_object("checkFocus")
        return PageState(**answer) if "refused" in answer else self.send(list(devtools.typing_commands(text)))

    def send(self, commands: list[Command]) -> PageState:
        """Send mouse and keyboard events, wait until the page has finished reacting, and return its state."""
        if commands:
            self._connection.call_all(commands)
        return PageState(**self._call_for_object("settle", self._episode))

    def _load(self, url: str) -> None:
        self._url = ""
        self._connection.call("Page.navigate", url=url)
        deadline = time.monotonic() + LOAD_SECONDS
        while self._connection.evaluate("location.href") != url:
            if time.monotonic() > deadline:
                raise EnvironmentBroken(f"the page {url} does not load")
            time.sleep(0.002)
        self._url = url

    def _call(self, function: str, *arguments: JsonValue) -> JsonValue:
        return self._connection.evaluate(f"planbook.{function}({', '.join(map(json.dumps, arguments))})")

    def _call_for_object(self, function: str, *arguments: JsonValue) -> Answer:
        answer = self._call(function, *arguments)
        if not isinstance(answer, dict):
            raise EnvironmentBroken(f"the page does not answer planbook.{function}")
        return answer

    def _send_at(self, point: Answer, commands_at: Callable[[float, float], list[Command]]) -> PageState:
        return PageState(**point) if "refused" in point else self.send(commands_at(point["x"], point["y"]))

    def _do(self, function: str, *arguments: JsonValue) -> PageState:
        answer = self._call_for_object(function, *arguments)
        return PageState(**answer) if "refused" in answer else self.send([])


def _drag(x: float, y: float, end_x: float, end_y: float) -> list[Command]:
    fractions = [step / DRAG_STEPS for step in range(DRAG_STEPS + 1)]
    points = [(x + fraction * (end_x - x), y + fraction * (end_y - y)) for fraction in fractions]
    moves = [mouse_event("mouseMoved", *point, button_down=True) for point in points[1:]]
    press = mouse_event("mousePressed", x, y, button_down=True)
    return [mouse_event("mouseMoved", x, y), press, *moves, mouse_event("mouseReleased", end_x, end_y)]
