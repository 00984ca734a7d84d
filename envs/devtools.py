"""Chromium's DevTools protocol: connections to a browser or to one of its tabs, and commands for keyboard and mouse."""

import json
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from itertools import count
from string import ascii_letters, digits
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


@dataclass(frozen=True, slots=True)
class Key:
    """A key of the keyboard, possibly together with shift."""

    key: str
    """The name of the key, as pages see it."""
    code: str
    """The name of the key's position on the keyboard."""
    key_code: int
    """The key's Windows key code, which pages see as ``keyCode``."""
    text: str = ""
    """The text that the key types, or ""."""
    modifiers: int = 0
    """SHIFT if the shift key is held down, otherwise 0."""

    def commands(self) -> Iterator[Command]:
        """Yield the commands that press and release the key."""
        common: dict[str, JsonValue] = {
            "key": self.key,
            "code": self.code,
            "windowsVirtualKeyCode": self.key_code,
            "nativeVirtualKeyCode": self.key_code,
            "modifiers": self.modifiers,
        }
        down = (
            {"type": "keyDown", "text": self.text, "unmodifiedText": self.text} if self.text else {"type": "rawKeyDown"}
        )
        yield "Input.dispatchKeyEvent", common | down
        yield "Input.dispatchKeyEvent", common | {"type": "keyUp"}


KEYS: Mapping[str, Key] = {
    "enter": Key("Enter", "Enter", 13, "\r"),
    "tab": Key("Tab", "Tab", 9),
    "space": Key(" ", "Space", 32, " "),
    "backspace": Key("Backspace", "Backspace", 8),
    "delete": Key("Delete", "Delete", 46),
    "escape": Key("Escape", "Escape", 27),
    "home": Key("Home", "Home", 36),
    "end": Key("End", "End", 35),
    "page_up": Key("PageUp", "PageUp", 33),
    "page_down": Key("PageDown", "PageDown", 34),
    "arrow_left": Key("ArrowLeft", "ArrowLeft", 37),
    "arrow_up": Key("ArrowUp", "ArrowUp", 38),
    "arrow_right": Key("ArrowRight", "ArrowRight", 39),
    "arrow_down": Key("ArrowDown", "ArrowDown", 40),
}

PUNCTUATION = (
    ("Semicolon", 186, ";", ":"),
    ("Equal", 187, "=", "+"),
    ("Comma", 188, ",", "<"),
    ("Minus", 189, "-", "_"),
    ("Period", 190, ".", ">"),
    ("Slash", 191, "/", "?"),
    ("Backquote", 192, "`", "~"),
    ("BracketLeft", 219, "[", "{"),
    ("Backslash", 220, "\\", "|"),
    ("BracketRight", 221, "]", "}"),
    ("Quote", 222, "'", '"'),
)
"""For each punctuation key: its code, its Windows key code, and the characters that it types without and with shift."""


def _characters() -> Iterator[Key]:
    for letter in ascii_letters:
        upper = letter.upper()
        yield Key(letter, f"Key{upper}", ord(upper), letter, SHIFT if letter == upper else 0)
    for digit, shifted in zip(digits, ")!@#$%^&*(", strict=True):
        yield Key(digit, f"Digit{digit}", ord(digit), digit)
        yield Key(shifted, f"Digit{digit}", ord(digit), shifted, SHIFT)
    for code, number, plain, shifted in PUNCTUATION:
        yield Key(plain, code, number, plain)
        yield Key(shifted, code, number, shifted, SHIFT)


CHARACTER_KEYS: Mapping[str, Key] = {key.text: key for key in _characters()} | {
    " ": KEYS["space"],
    "\n": KEYS["enter"],
    "\t": KEYS["tab"],
}
"""Maps a character to the key that types it."""


def find_key(name: str) -> Key | None:
    """Return the key for a character or a name such as ``arrow_down``. Return None if there is no such key."""
    return CHARACTER_KEYS.get(name) or KEYS.get(name)


def typing_commands(text: str) -> Iterator[Command]:
    """Yield the commands that type ``text``. Characters that no key types are inserted directly."""
    for character in text:
        if key := CHARACTER_KEYS.get(character):
            yield from key.commands()
        else:
            yield "Input.insertText", {"text": character}


def mouse(kind: str, x: float, y: float, *, held: bool = False) -> Command:
    """Return the command for one mouse event at a point. ``held`` is True while the left button is down."""
    moved = kind == "mouseMoved"
    event = {"type": kind, "x": x, "y": y, "buttons": int(held), "clickCount": int(not moved)}
    return "Input.dispatchMouseEvent", event | {"button": "none" if moved and not held else "left"}


def click_commands(x: float, y: float) -> list[Command]:
    """Return the commands that click at a point."""
    return [mouse("mouseMoved", x, y), mouse("mousePressed", x, y, held=True), mouse("mouseReleased", x, y)]
