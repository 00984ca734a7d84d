"""Compare an episode with its repetition: find the first event that differs, and describe it.

Sometimes only the ids of objects differ, for example if `apple_2` is now called `apple_3`.
"""

import re
from collections.abc import Mapping
from enum import StrEnum
from itertools import zip_longest
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from planbook.planner import Body, Ending
from planbook.store import Events
from planbook.wording import describe, outcome_of, reason_of

COMPARED_KINDS = ("task", "recall", "ask", "act", "rewind", "cell", "outcome")
"""Kinds of events that are compared. Spans are not compared, because these events determine them."""
NUMBER = re.compile(r"\d+")
EXCERPT_CHARACTERS = 160
"""Maximum number of characters in an excerpt of a text that differs from another text."""
CHARACTERS_BEFORE = 40
"""Maximum number of characters in an excerpt before the first difference."""


class Sameness(StrEnum):
    """The result of comparing an episode with its repetition."""

    SAME = "same"
    RENAMED = "renamed ids"
    """The episode differs only in ids that the environment declares, each renamed in the same way throughout."""
    DIFFERENT = "different"
    NOT_COMPARED = "not compared"
    """No comparison was possible: one of the two has no ending, the original was BROKEN or not run, or the environment
    can no longer play it."""


class Comparison(BaseModel):
    """An episode compared with its repetition. ``event`` names the first event that differs.

    If the outcomes or their causes differ, ``then`` describes the original ending, and ``now`` the new one. If a replay
    needs more replies than were recorded, ``then`` is empty, and ``now`` says why the new ending is unknown.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    sameness: Sameness
    event: str = ""
    expected: str = ""
    actual: str = ""
    then: str = ""
    now: str = ""
    verdict_changed: bool = Field(default=False, exclude=True)
    """True if only one of the two episodes was solved."""

    def with_endings(self, old: Ending, new: Ending) -> "Comparison":
        """Return this comparison of events, completed by a comparison of the endings."""
        if (old.outcome, old.cause) == (new.outcome, new.cause):
            return self
        words = {name: f"{outcome_of(each)}{reason_of(each)}" for name, each in (("then", old), ("now", new))}
        changed = old.outcome.solved != new.outcome.solved
        return self.model_copy(update={"sameness": Sameness.DIFFERENT, "verdict_changed": changed, **words})

    def __str__(self) -> str:
        expected, actual = _excerpts(self.expected, self.actual)
        event = f", at {self.event}\n  expected: {expected}\n  actual:   {actual}" if self.event else ""
        changed = f"\n  the ending changed: {self.then}, now {self.now}" if self.then else ""
        endings = changed or (f"\n  the ending is now {self.now}" if self.now else "")
        return f"{self.sameness}{event}{endings}"


def _excerpts(old: str, new: str) -> tuple[str, str]:
    """Return excerpts of both texts around their first difference, each on one line."""
    differing = (n for n, letters in enumerate(zip(old, new, strict=False)) if letters[0] != letters[1])
    position = next(differing, min(len(old), len(new)))
    return _excerpt(old, position), _excerpt(new, position)


def _excerpt(text: str, position: int) -> str:
    begin = max(0, position - CHARACTERS_BEFORE) if len(text) > EXCERPT_CHARACTERS else 0
    shown = text[begin : begin + EXCERPT_CHARACTERS]
    cut = f"{'... ' if begin else ''}{shown}{' ...' if begin + EXCERPT_CHARACTERS < len(text) else ''}"
    return " ".join(cut.split()) or "(nothing)"


def compared_events(events: Events, path: str) -> Events:
    """Return the events that are compared, with the scopes in their keys and bodies relative to ``path``.

    ``path`` is the scope of an attempt at the episode; it differs between two attempts.
    """
    return {
        (scope.removeprefix(path).lstrip("/"), kind, number): _with_relative_places(body, path)
        for (scope, kind, number), body in events.items()
        if kind in COMPARED_KINDS
    }


def _with_relative_places(body: Body, path: str) -> Body:
    places = {name: place.removeprefix(path) for name in ("scope", "path") if isinstance(place := body.get(name), str)}
    return {**body, **places}


def first_difference(recorded: Events, repeated: Events, ids: str = "") -> Comparison:
    """Return a comparison that describes the first event that differs, with both versions of it.

    ``ids`` is a regular expression for ids that may be renamed. A renaming changes only the numbers in ids, is
    one-to-one, and is the same in the whole episode.
    """
    old = {key: _compared_part(key[1], body, body) for key, body in recorded.items()}
    new = {key: _compared_part(key[1], body, recorded.get(key, body)) for key, body in repeated.items()}
    for places in zip_longest(old, new):
        if differing := [key for key in places if old.get(key) != new.get(key)]:
            key = min(differing, key=lambda key: key in old and key in new)  # prefer an event that only one episode has
            is_renamed = bool(ids) and _Renaming(ids).fits(old, new)
            sameness = Sameness.RENAMED if is_renamed else Sameness.DIFFERENT
            return Comparison(sameness=sameness, **_describe(key, old.get(key), new.get(key)))
    return Comparison(sameness=Sameness.SAME)


def _compared_part(kind: str, body: Any, original: Any) -> Any:
    """Return the part of an event that is compared. ``original`` is the same event in the original episode.

    The model, the duration of its call and the wording of a cell's feedback are not compared. Nor is the wording of a
    prompt if it was made from the same data, or if planbook 0.1, which did not record the data, made the original.
    """
    match kind:
        case "recall":
            return {name: value for name, value in body.items() if name != "data"}
        case "cell":
            return {**body, "feedback": {**body["feedback"], "text": ""}}
        case "ask":
            ignore_wording = original.get("given") in (None, body.get("given"))
            messages = (original if ignore_wording else body)["messages"]
            prompt = "\n\n".join(message["content"] for message in messages)
            reply = body["reply"]
            question = {"role": body["role"], "template": body["template"], "prompt": prompt}
            return {**question, "reply": reply["text"], "finish": reply["finish"]}
    return body


def _describe(place: tuple[str, str, int], old: Any, new: Any) -> dict[str, str]:
    """Return the fields of a comparison that describe a differing event. ``place`` is its scope, kind and number."""
    scope, kind, number = place
    if kind == "ask" and old and new:
        part, label = ("reply", "the reply to") if old["prompt"] == new["prompt"] else ("prompt", "the prompt of")
        event = f"{label} question {number + 1} to the {new['role']} ({new['template']})"
        return {"event": event, "expected": old[part], "actual": new[part]}
    expected, actual = describe(kind, old).strip(), describe(kind, new).strip()
    if expected == actual:  # the descriptions leave out the part that differs
        expected, actual = str(old), str(new)
    event = f"{kind} {number + 1} of {scope}" if scope else f"{kind} {number + 1}"
    return {"event": event, "expected": expected, "actual": actual}


class _Renaming:
    """The pairs of old and new ids found so far, in both directions."""

    def __init__(self, ids: str) -> None:
        self._ids = re.compile(rf"(?<!\w)({ids})(?!\w)")
        self._new_names: dict[str, str] = {}
        self._old_names: dict[str, str] = {}

    def fits(self, old: Any, new: Any) -> bool:
        """Return True if two values are equal except for ids, and each old id still has the new id found earlier."""
        if isinstance(old, Mapping) and isinstance(new, Mapping):
            return old.keys() == new.keys() and all(self.fits(value, new[key]) for key, value in old.items())
        if isinstance(old, list | tuple) and isinstance(new, list | tuple):
            return len(old) == len(new) and all(map(self.fits, old, new))
        if isinstance(old, str) and isinstance(new, str):
            old_parts, new_parts = self._ids.split(old), self._ids.split(new)  # text, id, text, id, ..., text
            return old_parts[::2] == new_parts[::2] and all(map(self._fits_name, old_parts[1::2], new_parts[1::2]))
        return bool(old == new)

    def _fits_name(self, old: str, new: str) -> bool:
        same_kind = NUMBER.sub("#", old) == NUMBER.sub("#", new)
        return same_kind and self._new_names.setdefault(old, new) == new and self._old_names.setdefault(new, old) == old
