"""Do two recordings of an episode differ only in the names of objects?"""

import re
from collections.abc import Mapping
from typing import Any

from planbook.planner import Body

Events = Mapping[Any, Body]
NOT_HELD = ("heard", "versions", "sitting", "control")
"""Kinds of events that say nothing of how an episode went."""
NUMBER = re.compile(r"\d+")


def is_renaming(before: Events, after: Events, ids: str) -> bool:
    """Return whether one consistent one-to-one renaming of ids turns the first episode into the second.

    A name changes in its numbers only. ``ids`` is the pattern of the names that the environment declares; with none,
    nothing is a renaming.
    """
    if not ids:
        return False
    one, other = (
        {key: _held(key[1], body) for key, body in of.items() if key[1] not in NOT_HELD} for of in (before, after)
    )
    return one.keys() == other.keys() and _Renaming(ids).fits(one, {key: other[key] for key in one})


def _held(kind: str, body: Any) -> Any:
    """What of an event is compared: of a question, the prompt and the text of the reply."""
    if kind != "ask":
        return body
    return body["role"], body["template"], body["messages"], body["reply"]["text"]


class _Renaming:
    """The names that were given so far, in both directions."""

    def __init__(self, ids: str) -> None:
        self._ids = re.compile(rf"(?<!\w)({ids})(?!\w)")
        self._now: dict[str, str] = {}
        self._then: dict[str, str] = {}

    def fits(self, then: Any, now: Any) -> bool:
        """Return whether the two are the same but for names, and the names agree with those seen before."""
        if isinstance(then, Mapping) and isinstance(now, Mapping):
            return then.keys() == now.keys() and all(self.fits(value, now[key]) for key, value in then.items())
        if isinstance(then, list | tuple) and isinstance(now, list | tuple):
            return len(then) == len(now) and all(map(self.fits, then, now))
        if isinstance(then, str) and isinstance(now, str):
            one, other = self._ids.split(then), self._ids.split(now)
            return one[::2] == other[::2] and all(map(self._named, one[1::2], other[1::2]))
        return bool(then == now)

    def _named(self, then: str, now: str) -> bool:
        alike = NUMBER.sub("#", then) == NUMBER.sub("#", now)
        return alike and self._now.setdefault(then, now) == now and self._then.setdefault(now, then) == then
