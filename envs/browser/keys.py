"""Keys of a US keyboard, as the DevTools protocol wants them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from string import ascii_letters, digits

from pydantic import JsonValue

from planbook.envs.browser.devtools import Command

SHIFT = 8
"""The protocol's bit for the shift key."""


@dataclass(frozen=True, slots=True)
class Key:
    """A key: its name, where it sits, its number on Windows (what pages read as ``keyCode``), and the text it types."""

    key: str
    code: str
    number: int
    text: str = ""
    modifiers: int = 0

    def commands(self) -> Iterator[Command]:
        """Press it and let it go."""
        common: dict[str, JsonValue] = {
            "key": self.key,
            "code": self.code,
            "windowsVirtualKeyCode": self.number,
            "nativeVirtualKeyCode": self.number,
            "modifiers": self.modifiers,
        }
        down = (
            {"type": "keyDown", "text": self.text, "unmodifiedText": self.text} if self.text else {"type": "rawKeyDown"}
        )
        yield "Input.dispatchKeyEvent", common | down
        yield "Input.dispatchKeyEvent", common | {"type": "keyUp"}


NAMED: Mapping[str, Key] = {
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
"""Code, number on Windows, what the key types, and what it types with shift."""


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


TYPED: Mapping[str, Key] = {key.text: key for key in _characters()} | {
    " ": NAMED["space"],
    "\n": NAMED["enter"],
    "\t": NAMED["tab"],
}
"""The key for each character that the keyboard has."""


def named(name: str) -> Key | None:
    """The key of that name: ``arrow_down`` (also ``ArrowDown`` or ``down``), or a single character; None if unknown."""
    if name in TYPED:
        return TYPED[name]
    plain = name.strip().lower().replace("-", "_").replace(" ", "_")
    if plain in NAMED:
        return NAMED[plain]
    joined = plain.replace("_", "")
    return next(
        (key for key in NAMED.values() if joined in (key.code.lower(), key.code.lower().removeprefix("arrow"))), None
    )


def typing(text: str) -> Iterator[Command]:
    """The commands that type a text; a character that the keyboard lacks is put in as a whole."""
    for character in text:
        if key := TYPED.get(character):
            yield from key.commands()
        else:
            yield "Input.insertText", {"text": character}
