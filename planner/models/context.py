"""Fits a conversation into the model's context by a stated policy, never silently.

Templates name the blocks that may be dropped (the filter ``block`` of ``planbook.planner.prompts``), and those that
must stay whole.
"""

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace

from planbook.planner.errors import ContextExceeded
from planbook.planner.models.tokens import estimate_prompt
from planbook.planner.models.types import Message, Sampling
from planbook.planner.rendered import Rendered

EXCHANGES = "earlier messages"
LEFT_OUT_FIRST = (
    "code of an earlier task",
    "a failure at an earlier task",
    "other tasks",
    EXCHANGES,
    "example of a rule",
    "demonstration",
)
"""What is dropped, in this order: blocks by name, and the oldest exchanges.

Of blocks with the same name, the last goes first.
"""
WHOLE = "whole"
"""Name of a block that is never cut, such as the episode under judgement."""
OPEN, NAMED, CLOSE = "\x02", "\x03", "\x04"
"""Marks of a block. They stand in prompts until these are fitted, and never reach a model."""
_BLOCK = re.compile(f"{OPEN}({'|'.join((*LEFT_OUT_FIRST, WHOLE))}){NAMED}(.*?){CLOSE}", re.DOTALL)
SHORTEST_CUT = 400
"""Minimum characters of a piece that is cut."""
LONG = 16_000
"""Characters to which the messages of an exchange are cut before whole exchanges are left out."""


def prompt_block(text: str, name: str) -> str:
    """Mark a text as a block of that name. Raises ValueError for a name that the policy does not have."""
    if name not in (*LEFT_OUT_FIRST, WHOLE):
        raise ValueError(f"a prompt has no blocks {name!r}; there are {', '.join(LEFT_OUT_FIRST)} and {WHOLE}")
    return f"{OPEN}{name}{NAMED}{text}{CLOSE}" if text.strip() else text


def unmarked(text: str) -> str:
    """Return a text without the marks of its blocks, for readers who are no models."""
    return "".join(piece.text for piece in _pieces(text))


def blocks(text: str, name: str) -> str:
    """Mark each section of a Markdown text, from one heading of the second level to the next, as a block."""
    head, *sections = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    return "".join([head, *(prompt_block(section, name) for section in sections)])


@dataclass(frozen=True)
class Fitted:
    """A conversation that fits, with the number of messages dropped and of characters cut from the others."""

    messages: tuple[Message, ...]
    left_out: int = 0
    cut_characters: int = 0


def room(sampling: Sampling) -> int:
    """Tokens that the prompt may have; where replies are not limited, half of the context is kept for them."""
    return sampling.context - (sampling.max_tokens or sampling.context // 2)


def fit(messages: Sequence[Message], room: int) -> Fitted:
    """Make a conversation fit into so many tokens, by estimate. Raises ContextExceeded where nothing helps.

    What can be spared is left out piece by piece, as ``LEFT_OUT_FIRST`` says, with a note in its place. System
    messages, the first user message, the last reply and the last message stay. Messages of more than ``LONG``
    characters are cut to that before whole exchanges are left out: one long output does not push out all others. If
    that is not enough, the longest texts that are left are cut in the middle, between two lines, all of them to the
    same length, each with a note of what is missing.
    """
    for draft in _drafts(messages):
        if estimate_prompt(fitted := draft.messages()) <= room:
            return Fitted(fitted, len(draft.left_out), draft.spared)
    return _cut(draft, room)


@dataclass(frozen=True)
class _Block:
    """A part of a message: a block, if it has a name."""

    text: str
    name: str = ""


@dataclass(frozen=True)
class _FittedConversation:
    """A conversation in pieces, the places of messages that are left out, and the characters of blocks that are."""

    asked: tuple[Message, ...]
    pieces: tuple[tuple[_Block, ...], ...]
    left_out: frozenset[int] = frozenset()
    spared: int = 0

    def messages(self) -> tuple[Message, ...]:
        """Return what is left, with a note where messages are missing."""
        parts = zip(self.asked, self.pieces, strict=True)
        return _without([_saying(message, pieces) for message, pieces in parts], self.left_out)

    def blocks(self, name: str) -> list[tuple[int, int]]:
        """Return where blocks of a name are, the last first: the message, and the piece of it."""
        kept = [(place, each) for place, each in enumerate(self.pieces) if place not in self.left_out]
        return [(place, n) for place, each in kept for n, piece in enumerate(each) if piece.name == name][::-1]

    def without(self, place: int, number: int) -> "_FittedConversation":
        """Leave out a block."""
        message = list(self.pieces[place])
        prompt_block = message[number]
        message[number] = _Block(f"[left out to fit the context: {prompt_block.name}]\n", WHOLE)
        pieces = (*self.pieces[:place], tuple(message), *self.pieces[place + 1 :])
        return replace(self, pieces=pieces, spared=self.spared + len(prompt_block.text))

    def shortened(self, after: int) -> "_FittedConversation":
        """Cut the long pieces of the messages after a place."""
        cut = [[_cut_piece(piece, LONG) for piece in message] for message in self.pieces[after + 1 :]]
        pieces = (*self.pieces[: after + 1], *(tuple(piece for piece, _ in message) for message in cut))
        return replace(self, pieces=pieces, spared=self.spared + sum(missing for each in cut for _, missing in each))


def _drafts(messages: Sequence[Message]) -> Iterator[_FittedConversation]:
    """The conversation, then with one thing less each."""
    draft = _FittedConversation(tuple(messages), tuple(_pieces(each.content) for each in messages))
    yield draft
    for name in LEFT_OUT_FIRST:
        if name == EXCHANGES:
            yield (draft := draft.shortened(_first_user(messages)))
        for exchange in _exchanges(messages) if name == EXCHANGES else ():
            yield (draft := replace(draft, left_out=draft.left_out | set(exchange)))
        for place, number in draft.blocks(name):
            yield (draft := draft.without(place, number))


def _pieces(content: str) -> tuple[_Block, ...]:
    pieces, end = list[_Block](), 0
    for found in _BLOCK.finditer(content):
        pieces += [_Block(content[end : found.start()]), _Block(found[2], found[1])]
        end = found.end()
    return (*pieces, _Block(content[end:]))


def _saying(message: Message, pieces: Iterable[_Block]) -> Message:
    """The message with other words, made from the same data."""
    text, content = "".join(piece.text for piece in pieces), message.content
    known = Rendered.known(text, content.data) if isinstance(content, Rendered) else text
    return message if text == content else message.model_copy(update={"content": known})


def _first_user(messages: Sequence[Message]) -> int:
    return next((place for place, message in enumerate(messages) if message.role == "user"), 0)


def _exchanges(messages: Sequence[Message]) -> list[list[int]]:
    """The places of what may be left out, oldest first, a reply together with what answered it; not the last reply."""
    replies = [place for place, message in enumerate(messages) if message.role == "assistant"]
    found: list[list[int]] = []
    for place in range(_first_user(messages) + 1, min(len(messages) - 1, replies[-1] if replies else len(messages))):
        if messages[place].role == "assistant" or (messages[place].role == "user" and not found):
            found.append([])
        if messages[place].role != "system":
            found[-1].append(place)
    return found


def _without(messages: Sequence[Message], left_out: Set[int]) -> tuple[Message, ...]:
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


def _cut(draft: _FittedConversation, room: int) -> Fitted:
    """Cut the longest pieces to the greatest common length at which all of it fits."""
    fitted = _cut_to(draft, SHORTEST_CUT)
    if (least := estimate_prompt(fitted.messages)) > room:
        raise ContextExceeded(
            f"even cut to {SHORTEST_CUT} characters a message, the prompt has about {least} tokens, and the context "
            f"leaves room for {room}: raise the context or lower the tokens of a reply"
        )
    fits, too_long = SHORTEST_CUT, max(len(piece.text) for message in draft.pieces for piece in message)
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        tried = _cut_to(draft, middle)
        if estimate_prompt(tried.messages) <= room:
            fits, fitted = middle, tried
        else:
            too_long = middle
    return fitted


def _cut_to(draft: _FittedConversation, length: int) -> Fitted:
    """Keep about so many characters of every piece that may be cut."""
    missing = 0
    messages = list[tuple[_Block, ...]]()
    for message in draft.pieces:
        cut = [_cut_piece(piece, length) for piece in message]
        messages.append(tuple(piece for piece, _ in cut))
        missing += sum(over for _, over in cut)
    kept = replace(draft, pieces=tuple(messages))
    return Fitted(kept.messages(), len(draft.left_out), draft.spared + missing)


def _cut_piece(piece: _Block, length: int) -> tuple[_Block, int]:
    """Keep half of the length at each end, whole lines where there are some. Return how much is missing, too."""
    text = piece.text
    if len(text) <= length or piece.name == WHOLE:
        return piece, 0
    head, tail = text[: length // 2], text[len(text) - (length - length // 2) :]
    head, tail = head[: head.rfind("\n") + 1].rstrip("\n") or head, tail[tail.find("\n") + 1 :]
    missing = len(text) - len(head) - len(tail)
    note = f"\n[{_count(missing, 'character')} cut here to fit the context]\n"
    return _Block(f"{head}{note}{tail}", piece.name), missing


def _count(number: int, noun: str) -> str:
    return f"{number} {noun} was" if number == 1 else f"{number} {noun}s were"
