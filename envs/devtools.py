"""Chromium's DevTools protocol: connections to a browser or to one of its tabs, and commands for keyboard and mouse."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import cache
from itertools import count
from string import ascii_uppercase, digits
from typing import Any

from pydantic import JsonValue

from planbook.envs.errors import EnvironmentBroken
from planbook.envs.requirements import missing_extra

Command = tuple[str, Mapping[str, Any]]
"""The name of one of the protocol's methods, and its parameters."""

Answer = dict[str, Any]
"""An answer from the browser or from one of our scripts, as JSON."""

Event = Mapping[str, Any]
"""An event, with ``method`` and ``params``. If the connection serves several tabs, it also has ``sessionId``."""

FINAL_EVENTS = ("Inspector.targetCrashed", "Inspector.detached")
"""The names of events after which a tab answers no more commands."""


TIMEOUT = 120.0
"""Number of seconds after which a browser that does not answer counts as dead.

If a browser really dies, its connections break immediately. So this limit matters only if the whole machine is stuck.
"""


@cache
def _websocket() -> Any:
    """Return the module of the package websocket-client. Raises MissingRequirement if it is not installed."""
    try:
        import websocket
    except ImportError as error:
        raise missing_extra("browser", "a browser") from error
    return websocket


class CommandRefused(EnvironmentBroken):
    """The browser is alive, but answered a command with an error."""


class NoAnswer(EnvironmentBroken):
    """The browser is alive, but did not answer in time."""


@contextmanager
def _report_lost_browser(command: str = "") -> Iterator[None]:
    """Turn connection errors into EnvironmentBroken. ``command`` is appended to the message."""
    try:
        yield
    except (OSError, ValueError, _websocket().WebSocketException) as error:
        raise EnvironmentBroken(f"the browser disconnected ({type(error).__name__}: {error}){command}") from error


class Connection:
    """A connection that sends commands and reads their answers. Only one thread at a time may use it.

    The connection is to one tab or to the whole browser. To send commands to a tab over a connection to the whole
    browser, pass the tab's ``session``.
    """

    def __init__(self, url: str, on_event: Callable[[Event], None] | None = None) -> None:
        """Connect to ``url``.

        ``on_event`` is called with every event. It may call ``post``, and it may raise an error.
        """
        self._numbers = count(1)
        self._loss_reason = ""
        self._on_event = on_event
        try:
            self._socket = _websocket().create_connection(
                url, timeout=TIMEOUT, suppress_origin=True, skip_utf8_validation=True, enable_multithread=False
            )
        except (OSError, _websocket().WebSocketException) as error:
            raise EnvironmentBroken(f"the browser does not answer at {url}: {error}") from error

    def call(self, method: str, **parameters: JsonValue) -> Answer:
        """Send one command, and return its answer.

        Raises CommandRefused if the browser refuses the command, or EnvironmentBroken if the browser is gone.
        """
        return self.call_all([(method, parameters)])[0]

    def call_all(self, commands: Sequence[Command], *, session: str = "", seconds: float | None = None) -> list[Answer]:
        """Send commands, which the browser executes in the given order, and return their answers in that order.

        Raises CommandRefused if the browser refuses a command, NoAnswer if not all answers arrive within ``seconds``,
        or EnvironmentBroken if the browser is gone.
        """
        if self._loss_reason:
            raise EnvironmentBroken(self._loss_reason)
        deadline = None if seconds is None else time.monotonic() + seconds
        with _report_lost_browser(f" during {commands[0][0]}"):
            try:
                numbers = [self._send(method, parameters, session) for method, parameters in commands]
                answers = self._receive(set(numbers), deadline)
            except _websocket().WebSocketTimeoutException as error:
                raise NoAnswer(f"the browser did not answer {commands[0][0]} in time") from error
        for number, (method, _) in zip(numbers, commands, strict=True):
            if problem := answers[number].get("error"):
                raise CommandRefused(f"the browser refused {method}: {problem.get('message')}")
        return [answers[number].get("result", {}) for number in numbers]

    def post(self, method: str, session: str = "", **parameters: JsonValue) -> None:
        """Send a command, and do not wait for its answer. Raises EnvironmentBroken if the browser is gone."""
        with _report_lost_browser(f" during {method}"):
            self._send(method, parameters, session)

    def listen(self, seconds: float) -> bool:
        """Wait up to ``seconds`` for a message. Return True if a message has arrived.

        Raises EnvironmentBroken if the browser is gone.
        """
        with _report_lost_browser():
            try:
                self._next(time.monotonic() + seconds)
            except _websocket().WebSocketTimeoutException:
                return False
        return True

    def evaluate(self, expression: str) -> JsonValue:
        """Return the value of a JavaScript expression. If it is a promise, wait for its value.

        Raises EnvironmentBroken if the expression throws an error.
        """
        answer = self.call(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True, timeout=60_000
        )
        if problem := answer.get("exceptionDetails"):
            reason = problem.get("exception", {}).get("description") or problem.get("text", "unknown")
            raise EnvironmentBroken(f"one of planbook's scripts failed in the page: {reason}")
        value: JsonValue = answer["result"].get("value")
        return value

    def close(self) -> None:
        """Close the connection. The tab itself stays open."""
        with suppress(OSError, _websocket().WebSocketException):
            self._socket.close(timeout=1)

    def _send(self, method: str, parameters: Mapping[str, Any], session: str) -> int:
        number = next(self._numbers)
        address = {"sessionId": session} if session else {}
        self._socket.send(json.dumps({"id": number, "method": method, "params": parameters, **address}))
        return number

    def _receive(self, pending: set[int], deadline: float | None) -> dict[int, Answer]:
        answers: dict[int, Answer] = {}
        while pending:
            message = self._next(deadline)
            if (number := message.get("id")) in pending:
                pending.discard(number)
                answers[number] = message
        return answers

    def _next(self, deadline: float | None) -> Answer:
        """Return the next message. If the message is an event, pass it to ``on_event`` first.

        Raises EnvironmentBroken if there is no ``on_event`` and the event is in FINAL_EVENTS.
        """
        self._socket.settimeout(TIMEOUT if deadline is None else max(0.001, deadline - time.monotonic()))
        message: Answer = json.loads(self._socket.recv())
        if "method" in message and self._on_event is not None:
            self._on_event(message)
        elif message.get("method") in FINAL_EVENTS:
            self._loss_reason = f"the tab is gone: {message['method']}"
            raise EnvironmentBroken(self._loss_reason)
        return message


SHIFT = 8
"""The protocol's bit for the shift key."""


def _press(key: str, code: str, key_code: int, text: str = "", modifiers: int = 0) -> list[Command]:
    """Return the commands that press and release a key.

    ``key`` is the name of the key, ``code`` the name of its position on the keyboard, and ``key_code`` its Windows key
    code, which pages see as ``keyCode``. ``text`` is what the key types. ``modifiers`` is SHIFT or 0.
    """
    key_codes = {"windowsVirtualKeyCode": key_code, "nativeVirtualKeyCode": key_code}
    common = {"key": key, "code": code, **key_codes, "modifiers": modifiers}
    down = {"type": "keyDown", "text": text, "unmodifiedText": text} if text else {"type": "rawKeyDown"}
    return [("Input.dispatchKeyEvent", common | down), ("Input.dispatchKeyEvent", common | {"type": "keyUp"})]


KEYS: Mapping[str, list[Command]] = {
    "enter": _press("Enter", "Enter", 13, "\r"),
    "tab": _press("Tab", "Tab", 9),
    "space": _press(" ", "Space", 32, " "),
    "backspace": _press("Backspace", "Backspace", 8),
    "delete": _press("Delete", "Delete", 46),
    "escape": _press("Escape", "Escape", 27),
    "home": _press("Home", "Home", 36),
    "end": _press("End", "End", 35),
    "page_up": _press("PageUp", "PageUp", 33),
    "page_down": _press("PageDown", "PageDown", 34),
    "arrow_left": _press("ArrowLeft", "ArrowLeft", 37),
    "arrow_up": _press("ArrowUp", "ArrowUp", 38),
    "arrow_right": _press("ArrowRight", "ArrowRight", 39),
    "arrow_down": _press("ArrowDown", "ArrowDown", 40),
}
"""Maps the name of a key to the commands that press it."""

_CHARACTERS = (
    *((f"Key{letter}", ord(letter), letter.lower() + letter) for letter in ascii_uppercase),
    *((f"Digit{digit}", ord(digit), digit + shifted) for digit, shifted in zip(digits, ")!@#$%^&*(", strict=True)),
    ("Semicolon", 186, ";:"),
    ("Equal", 187, "=+"),
    ("Comma", 188, ",<"),
    ("Minus", 189, "-_"),
    ("Period", 190, ".>"),
    ("Slash", 191, "/?"),
    ("Backquote", 192, "`~"),
    ("BracketLeft", 219, "[{"),
    ("Backslash", 220, "\\|"),
    ("BracketRight", 221, "]}"),
    ("Quote", 222, "'\""),
)
"""For each key that types characters: its code, its Windows key code, and its characters without and with shift."""

CHARACTER_KEYS: Mapping[str, list[Command]] = {
    character: _press(character, code, key_code, character, modifiers)
    for code, key_code, characters in _CHARACTERS
    for character, modifiers in zip(characters, (0, SHIFT), strict=True)
} | {" ": KEYS["space"], "\n": KEYS["enter"], "\t": KEYS["tab"]}
"""Maps a character to the commands that type it."""


def typing_commands(text: str) -> Iterator[Command]:
    """Yield the commands that type ``text``. Characters that no key types are inserted directly."""
    for character in text:
        yield from CHARACTER_KEYS.get(character, [("Input.insertText", {"text": character})])


def mouse_event(kind: str, x: float, y: float, *, button_down: bool = False) -> Command:
    """Return the command for one mouse event at a point. ``button_down`` tells whether the left button is down."""
    is_move = kind == "mouseMoved"
    event = {"type": kind, "x": x, "y": y, "buttons": int(button_down), "clickCount": int(not is_move)}
    return "Input.dispatchMouseEvent", event | {"button": "none" if is_move and not button_down else "left"}


def click_commands(x: float, y: float) -> list[Command]:
    """Return the commands that click at a point."""
    press = mouse_event("mousePressed", x, y, button_down=True)
    return [mouse_event("mouseMoved", x, y), press, mouse_event("mouseReleased", x, y)]
