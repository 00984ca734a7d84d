"""Say why a recording has no answer to a prompt: which recorded prompt is nearest, and where the two differ."""

from collections.abc import Sequence
from pathlib import Path

from planbook.planner.models.recording import Asked, Entries, Entry
from planbook.planner.models.requests import given, label
from planbook.planner.models.types import Message, Sampling


def explain(
    path: Path, messages: Sequence[Message], sampling: Sampling, entries: Entries, *, strict: bool = False
) -> str:
    """Return what a person is told when a recording has no answer."""
    asked, known = tuple(map(Asked.of, messages)), list(entries)
    named = f" of {label()}" if label() else ""
    told = f"{path} has no answer to this prompt{named} ({_ending(asked)})"
    if strict and entries.find(messages, sampling):
        return f"{told} but one to the same data in other words, which --strict-recordings refuses"
    if not known:
        return f"{told}; it is empty"
    nearest = max(known, key=lambda entry: _likeness(entry, asked))
    return f"{told}; the nearest of its {len(known)} {_difference(nearest, asked, sampling)}{_data_of(nearest)}"


def _data_of(nearest: Entry) -> str:
    """Say that the data differ, if that is known."""
    now = given()
    if nearest.given is None or now is None or nearest.label != label():
        return ""
    return ". What the prompt was made from has changed" if nearest.given.data != now.data else ""


def _likeness(entry: Entry, asked: Sequence[Asked]) -> tuple[int, bool, bool, int]:
    """Return the sort key: equal messages, then same prompt name, same message count, longest equal beginning."""
    pairs = list(zip(entry.messages, asked, strict=False))
    same = sum(one == other for one, other in pairs)
    alike = sum(_common(one.head, other.head) for one, other in pairs)
    return same, entry.label == label(), len(entry.messages) == len(asked), alike


def _difference(entry: Entry, asked: Sequence[Asked], sampling: Sampling) -> str:
    named = f"(of {entry.label}) " if entry.label else ""
    recorded = entry.messages
    for number, (then, now) in enumerate(zip(recorded, asked, strict=False), 1):
        if then != now and then.head == now.head:
            lengths = f"{now.length:,} characters now, {then.length:,} recorded"
            return f"{named}differs from message {number} on, after the same beginning {now.head!r} ({lengths})"
        if then != now:
            return f"{named}differs from message {number} on: {_shown(now)}, recorded was {_shown(then)}"
    if len(recorded) != len(asked):
        more, which = (recorded, "recorded") if len(recorded) > len(asked) else (asked, "asked now")
        number = min(len(recorded), len(asked)) + 1
        return f"{named}differs from message {number} on: {_shown(more[number - 1])} is only {which}"
    was, wanted = entry.sampling.model_dump(), sampling.model_dump()
    changed = [
        f"{name} {was[name]!r} was recorded, {wanted[name]!r} is asked" for name in was if was[name] != wanted[name]
    ]
    return f"{named}has the same messages, drawn otherwise: {', '.join(changed)}"


def _ending(asked: Sequence[Asked]) -> str:
    messages = f"{len(asked)} message{'' if len(asked) == 1 else 's'}"
    return f"{messages}, the last: {_shown(asked[-1])}" if asked else messages


def _shown(message: Asked) -> str:
    return f"({message.role}, {message.head!r}, {message.length} characters)"


def _common(one: str, other: str) -> int:
    return next(
        (place for place, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other))
    )
