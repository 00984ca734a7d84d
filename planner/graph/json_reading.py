"""The JSON value in a model's reply: in a fence or bare, with prose around it. Parsed, never repaired."""

import json
import re
from collections.abc import Iterator
from typing import Any

from pydantic import JsonValue

_FENCED = re.compile(
    r"^[ \t]*(`{3,})[ \t]*(?:json)?[ \t]*\n(.*?)\n[ \t]*\1[ \t]*$", re.DOTALL | re.MULTILINE | re.IGNORECASE
)
_OPENERS: dict[type, str] = {dict: "{", list: "["}
_WORDS: dict[type, str] = {dict: "an object in braces, {...}", list: "a list in brackets, [...]"}
_TRIES = 200
"""Brackets that are tried as the beginning of the value."""


def read_json(text: str, kind: type | None) -> JsonValue:
    """The last JSON value of that kind (dict, list, or None for any); one in a fence goes before one that is bare.

    Raises ValueError that tells the model what is wrong.
    """
    problems: list[tuple[int, str]] = []
    fenced = [value for block in _FENCED.findall(text) for value in _whole(block[1], problems)]
    for candidates in (fenced, _bare(text, kind, problems)):
        fitting = [value for value in candidates if kind is None or isinstance(value, kind)]
        if fitting:
            return fitting[-1]
    wanted = _WORDS[kind] if kind else "a value"
    why = f": {max(problems)[1]}" if problems else ""
    raise ValueError(f"there is no JSON in the reply that can be read as {wanted}{why}")


def _whole(text: str, problems: list[tuple[int, str]]) -> Iterator[JsonValue]:
    try:
        value, end = _decode(text, len(text) - len(text.lstrip()))
    except _Unreadable as error:
        problems.append((error.at, str(error)))
        return
    if text[end:].strip():
        problems.append((end, f"something stands after the value: {text[end:].strip()[:40]!r}"))
        return
    yield value


def _bare(text: str, kind: type | None, problems: list[tuple[int, str]]) -> list[JsonValue]:
    if kind is None:
        whole = list(_whole(text, problems))
        if whole:
            return whole
    openers = _OPENERS[kind] if kind else "{["
    found: list[JsonValue] = []
    place, tries = 0, 0
    while tries < _TRIES and (match := re.compile(f"[{re.escape(openers)}]").search(text, place)):
        tries += 1
        try:
            value, place = _decode(text, match.start())
            found.append(value)
        except _Unreadable as error:
            problems.append((error.at, str(error)))
            place = match.end()
    return found


class _Unreadable(ValueError):
    def __init__(self, at: int, why: str) -> None:
        self.at = at
        super().__init__(why)


def _decode(text: str, start: int) -> tuple[JsonValue, int]:
    try:
        value, end = _DECODER.raw_decode(text, start)
    except json.JSONDecodeError as error:
        raise _Unreadable(error.pos, f"{error.msg} at {text[error.pos : error.pos + 30]!r}") from error
    except RecursionError:
        raise _Unreadable(start, "it is nested too deeply") from None
    return value, end


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    keys = [key for key, _ in pairs]
    if twice := sorted({key for key in keys if keys.count(key) > 1}):
        raise _Unreadable(0, f"the key {twice[0]!r} stands twice in one object")
    return dict(pairs)


def _no_number(name: str) -> JsonValue:
    raise _Unreadable(0, f"{name} is no number of JSON")


_DECODER = json.JSONDecoder(object_pairs_hook=_unique, parse_constant=_no_number)
