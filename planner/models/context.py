"""What becomes of a conversation that is longer than the model's context: a stated policy, and never silently."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from planner.errors import ContextExceeded
from planner.models.tokens import estimate_prompt
from planner.models.types import Message, Sampling

SHORTEST_CUT = 400
"""Characters that a cut message keeps at least."""


@dataclass(frozen=True)
class Fitted:
    """A conversation that fits, and what that cost: messages left out, characters cut from the ones kept."""

    messages: tuple[Message, ...]
    left_out: int = 0
    cut_characters: int = 0


def room(sampling: Sampling) -> int:
    """Tokens that the prompt may have; where replies are not limited, half of the context is kept for them."""
    return sampling.context - (sampling.max_tokens or sampling.context // 2)


def fit(messages: Sequence[Message], room: int) -> Fitted:
    """Make a conversation fit into so many tokens, by estimate. Raises ContextExceeded where nothing helps.

    System messages, the first user message and the last message stay. The oldest exchanges (a reply with the messages
    that answer it) are left out one by one, and one note says how many messages those were. If that is not enough, the
    longest messages kept are cut in the middle, all of them to the same length, each with a note of what is missing.
    """
    exchanges = _exchanges(messages)
    for dropped in range(len(exchanges) + 1):
        left_out = {place for exchange in exchanges[:dropped] for place in exchange}
        kept = _without(messages, left_out)
        if estimate_prompt(kept) <= room:
            return Fitted(kept, len(left_out))
    return replace(_cut(kept, room), left_out=len(left_out))


def _exchanges(messages: Sequence[Message]) -> list[list[int]]:
    """The places of what may be left out, oldest first, a reply together with what answered it."""
    first_user = next((place for place, message in enumerate(messages) if message.role == "user"), 0)
    found: list[list[int]] = []
    for place in range(first_user + 1, len(messages) - 1):
        if messages[place].role == "assistant" or (messages[place].role == "user" and not found):
            found.append([])
        if messages[place].role != "system":
            found[-1].append(place)
    return found


def _without(messages: Sequence[Message], left_out: set[int]) -> tuple[Message, ...]:
    """Leave messages out, and say so where it keeps the roles alternating.

    Before a reply the note ends the message in front of the gap; before a user's message it takes the reply's place.
    """
    if not left_out:
        return tuple(messages)
    note = f"[{_count(len(left_out), 'earlier message')} left out to fit the context]"
    start = min(left_out)
    before = [message for place, message in enumerate(messages) if place < start]
    after = [message for place, message in enumerate(messages) if place > start and place not in left_out]
    if after[0].role == "user":
        return (*before, Message(role="assistant", content=note), *after)
    last = before[-1]
    return (*before[:-1], Message(role=last.role, content=f"{last.content}\n\n{note}"), *after)


def _cut(messages: tuple[Message, ...], room: int) -> Fitted:
    """Cut the longest messages to the greatest common length at which all of it fits."""
    fitted = _cut_to(messages, SHORTEST_CUT)
    if estimate_prompt(fitted.messages) > room:
        raise ContextExceeded(
            f"even cut to {SHORTEST_CUT} characters a message, the prompt has about {estimate_prompt(fitted.messages)} "
            f"tokens, and the context leaves room for {room}: raise the context or lower the tokens of a reply"
        )
    fits, too_long = SHORTEST_CUT, max(len(message.content) for message in messages)
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        tried = _cut_to(messages, middle)
        if estimate_prompt(tried.messages) <= room:
            fits, fitted = middle, tried
        else:
            too_long = middle
    return fitted


def _cut_to(messages: tuple[Message, ...], length: int) -> Fitted:
    """Keep so many characters of every message, half at its beginning and half at its end."""
    kept: list[Message] = []
    missing = 0
    for message in messages:
        over = len(message.content) - length
        if over > 0:
            head, tail = (
                message.content[: length // 2],
                message.content[len(message.content) - (length - length // 2) :],
            )
            note = f"\n[{_count(over, 'character')} cut here to fit the context]\n"
            message = Message(role=message.role, content=head + note + tail)
            missing += over
        kept.append(message)
    return Fitted(tuple(kept), cut_characters=missing)


def _count(number: int, noun: str) -> str:
    return f"{number} {noun} was" if number == 1 else f"{number} {noun}s were"
