"""Compare an episode with its repetition: find the first event that differs, and describe it."""

from enum import StrEnum
from itertools import zip_longest
from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from planbook.planner import Body, Ending
from planbook.store import Events
from planbook.wording import describe_event, outcome_text, reason_text

COMPARED_KINDS = ("task", "recall", "ask", "act", "rewind", "cell", "outcome")
"""Kinds of events that are compared. Spans are not compared, because these events determine them."""
EXCERPT_CHARS = 160
"""Maximum number of characters in an excerpt of a text that differs from another text."""
CHARS_BEFORE = 40
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
        """Return this comparison of events with a comparison of the endings added."""
        if (old.outcome, old.cause) == (new.outcome, new.cause):
            return self
        update = {
            "sameness": Sameness.DIFFERENT,
            "verdict_changed": old.outcome.solved != new.outcome.solved,
            "then": f"{outcome_text(old)}{reason_text(old)}",
            "now": f"{outcome_text(new)}{reason_text(new)}",
        }
        return self.model_copy(update=update)

    def __str__(self) -> str:
        expected, actual = _excerpts(self.expected, self.actual)
        event = f", at {self.event}\n  expected: {expected}\n  actual:   {actual}" if self.event else ""
        changed = f"\n  the ending changed: {self.then}, now {self.now}" if self.then else ""
        endings = changed or (f"\n  the ending is now {self.now}" if self.now else "")
        return f"{self.sameness}{event}{endings}"


def _excerpts(old: str, new: str) -> tuple[str, str]:
    """Return excerpts of both texts around their first difference, each on one line."""
    differing = (index for index, (left, right) in enumerate(zip(old, new, strict=False)) if left != right)
    position = next(differing, min(len(old), len(new)))
    return _excerpt(old, position), _excerpt(new, position)


def _excerpt(text: str, position: int) -> str:
    begin = max(0, position - CHARS_BEFORE) if len(text) > EXCERPT_CHARS else 0
    shown = text[begin : begin + EXCERPT_CHARS]
    cut = f"{'... ' if begin else ''}{shown}{' ...' if begin + EXCERPT_CHARS < len(text) else ''}"
    return " ".join(cut.split()) or "(nothing)"


def compared_events(events: Events, path: str) -> Events:
    """Return the events that are compared, with the scopes in their keys and bodies relative to ``path``.

    ``path`` is the scope of an attempt at the episode; it differs between two attempts.
    """
    return {
        (scope.removeprefix(path).lstrip("/"), kind, number): _with_relative_scopes(body, path)
        for (scope, kind, number), body in events.items()
        if kind in COMPARED_KINDS
    }


def _with_relative_scopes(body: Body, path: str) -> Body:
    scopes = {name: scope.removeprefix(path) for name in ("scope", "path") if isinstance(scope := body.get(name), str)}
    return {**body, **scopes}


def first_difference(recorded: Events, repeated: Events) -> Comparison:
    """Return a comparison that describes the first event that differs, with both versions of it."""
    old = {key: _compared_part(key[1], body, body) for key, body in recorded.items()}
    new = {key: _compared_part(key[1], body, recorded.get(key, body)) for key, body in repeated.items()}
    for keys in zip_longest(old, new):
        if differing := [key for key in keys if old.get(key) != new.get(key)]:
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


def _describe(key: tuple[str, str, int], old: Any, new: Any) -> dict[str, str]:
    """Return the fields of a comparison that describe a differing event. ``key`` is its scope, kind and number."""
    scope, kind, number = key
    if kind == "ask" and old and new:
        part, label = ("reply", "the reply to") if old["prompt"] == new["prompt"] else ("prompt", "the prompt of")
        event = f"{label} question {number + 1} to the {new['role']} ({new['template']})"
        return {"event": event, "expected": old[part], "actual": new[part]}
    expected, actual = describe_event(kind, old).strip(), describe_event(kind, new).strip()
    if expected == actual:  # the descriptions leave out the part that differs
        expected, actual = str(old), str(new)
    event = f"{kind} {number + 1} of {scope}" if scope else f"{kind} {number + 1}"
    return {"event": event, "expected": expected, "actual": actual}
