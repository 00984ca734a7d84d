"""Bodies of events as JSON: strings from a length on are left out, and kept once in the table of texts."""

import hashlib
import json
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import JsonValue

from planbook.planner import Body

LONG_TEXT = 400
"""Strings from this length on go to the table of texts."""
TEXT_KEY = "$text"
ESCAPE = "\\"
"""Stands before a key of a body that begins as the store's own does."""


def packed(body: Body, texts: dict[str, str]) -> str:
    """The body as JSON; ``texts`` takes the long strings, by their hashes."""
    value = _pack(dict(body), texts)
    text = json.dumps(value, ensure_ascii=False)
    return text if _storable(text) else json.dumps(value)


def texts_of(value: Any) -> Iterator[str]:
    """The hashes of the long strings that a packed body needs."""
    if isinstance(value, list):
        for item in value:
            yield from texts_of(item)
    elif isinstance(value, dict):
        if set(value) == {TEXT_KEY}:
            yield value[TEXT_KEY]
        else:
            yield from texts_of(list(value.values()))


def unpacked(value: Any, texts: Mapping[str, str]) -> Any:
    """The body as it was, with its long strings."""
    if isinstance(value, list):
        return [unpacked(item, texts) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {TEXT_KEY}:
        return texts[value[TEXT_KEY]]
    return {key.removeprefix(ESCAPE): unpacked(item, texts) for key, item in value.items()}


def _pack(value: JsonValue, texts: dict[str, str]) -> JsonValue:
    if isinstance(value, str):
        if len(value) < LONG_TEXT or not _storable(value):
            return value
        digest = hashlib.sha256(value.encode("utf-8")).hexdigest()
        texts[digest] = value
        return {TEXT_KEY: digest}
    if isinstance(value, dict):
        return {_escaped(key): _pack(item, texts) for key, item in value.items()}
    if isinstance(value, list):
        return [_pack(item, texts) for item in value]
    return value


def _storable(text: str) -> bool:
    """Whether databases take the text as it is.

    Half of a surrogate pair has no UTF-8, and PostgreSQL takes no NUL; both are kept as escapes of JSON.
    """
    try:
        return b"\0" not in text.encode("utf-8")
    except UnicodeEncodeError:
        return False


def _escaped(key: str) -> str:
    """A key of a body that could be taken for the store's own."""
    return f"{ESCAPE}{key}" if key.startswith(("$", ESCAPE)) else key
