"""Compare an episode with its repetition: find the first event that differs, and describe it."""

from enum import StrEnum
from itertools import zip_longest
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from planbook.planner import Body, Ending
from planbook.store import Events
from planbook.wording import describe, outcome_of, reason_of

COMPARED_KINDS = ("task", "recall", "ask", "act", "rewind", "cell", "outcome")
"""Kinds of events that are compared. Spans are not compared, because these events determine them."""
EXCERPT_CHARACTERS = 160
"""Maximum number of characters in an excerpt of a text that differs from another text."""
CHARACTERS_BEFORE = 40
"""Maximum number of characters in an excerpt before the first difference."""


class Sameness(StrEnum):
    """The result of comparing an episode with its repetition."""

    SAME = "same"
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


def first_difference(recorded: Events, repeated: Events) -> Comparison:
    """Return a comparison that describes the first event that differs, with both versions of it."""
    old = {key: _compared_part(key[1], body, body) for key, body in recorded.items()}
    new = {key: _compared_part(key[1], body, recorded.get(key, body)) for key, body in repeated.items()}
    for places in zip_longest(old, new):
        if differing := [key for key in places if old.get(key) != new.get(key)]:
            key = min(differing, key=lambda key: key in old and key in new)  # prefer an event that only one episode has
            return Comparison(sameness=Sameness.DIFFERENT, **_describe(key, old.get(key), new.get(key)))
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
