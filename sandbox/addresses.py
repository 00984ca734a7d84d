"""Addresses of objects in what a plan shows: another worker has others, and to a reader they say nothing."""

import re
from typing import Any

MARK = b" at 0x"
"""What a message has that shows an address."""
_ADDRESS = re.compile(r" at 0x[0-9a-f]{6,16}(?=>)")
"""As in ``<Box object at 0x7f2b9c0d1a50>``."""


def without_addresses(text: str) -> str:
    """The text with ``0x...`` for every address that Python's own repr put there."""
    return _ADDRESS.sub(" at 0x...", text)


def shown_without(value: Any) -> Any:
    """A JSON value with ``without_addresses`` done to each of its texts; keys of dicts stay."""
    if isinstance(value, str):
        return without_addresses(value)
    if isinstance(value, dict):
        return {key: shown_without(item) for key, item in value.items()}
    return [shown_without(item) for item in value] if isinstance(value, list) else value
