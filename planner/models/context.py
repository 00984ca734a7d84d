"""Fit a conversation into the model's context by a documented policy, never silently.

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
"""The parts that are dropped, in this order: blocks by name, and the oldest exchanges.

Of blocks with the same name, the last goes first.
"""
WHOLE = "whole"
"""Name of a block that is never cut, such as the episode that is being judged."""
OPEN, NAMED, CLOSE = "\x02", "\x03", "\x04"
"""Marks of a block. Fitting a prompt removes them, so they never reach a model."""
_BLOCK = re.compile(f"{OPEN}({'|'.join((*LEFT_OUT_FIRST, WHOLE))}){NAMED}(.*?){CLOSE}", re.DOTALL)
MIN_CUT = 400
"""Minimum number of characters to which a piece is cut."""
MAX_MESSAGE = 16_000
"""Number of characters to which the messages of an exchange are cut before whole exchanges are left out."""


def prompt_block(text: str, name: str) -> str:
    """Mark a text as a block with that name. Raises ValueError for an unknown name."""
    if name not in (*LEFT_OUT_FIRST, WHOLE):
        raise ValueError(f"a prompt has no blocks {name!r}; there are {', '.join(LEFT_OUT_FIRST)} and {WHOLE}")
    return f"{OPEN}{name}{NAMED}{text}{CLOSE}" if text.strip() else text


def unmarked(text: str) -> str:
    """Return a text without the marks of its blocks, for people."""
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
    """Return the number of tokens for the prompt. If replies are not limited, they get half of the context."""
    return sampling.context - (sampling.max_tokens or sampling.context // 2)


def fit(messages: Sequence[Message], room: int) -> Fitted:
    """Fit a conversation into ``room`` tokens, by estimate. Raises ContextExceeded if that is impossible.

    Parts are left out one by one in the order of ``LEFT_OUT_FIRST``, replaced by a note. System messages, the
    first user message, the last reply and the last message stay. Parts of messages longer than ``MAX_MESSAGE`` are
    cut to that length before whole exchanges are left out, so that one long output does not push out all others. If
    that is not enough, the longest remaining texts are cut in the middle, between two lines, all to the same length,
    with a note of the number of characters cut.
    """
    for draft in _drafts(messages):
        if draft.tokens() <= room:
            return draft.fitted()
    return _cut(draft, room).fitted()


@dataclass(frozen=True)
class _MessagePiece:
    """A piece of a message: a block if it has a name. ``original`` is its text before it was cut, if it was."""

    text: str
    name: str = ""
    original: str = ""
    missing: int = 0
    """Number of characters of the original that were cut."""

    def cut(self, length: int) -> "_MessagePiece":
        """Return the piece without its middle if it is longer than this. It is cut between lines if possible."""
        text = self.original or self.text
        if len(text) <= length or self.name == WHOLE:
            return self
        head, tail = text[: length // 2], text[len(text) - (length - length // 2) :]
        head, tail = head[: head.rfind("\n") + 1].rstrip("\n") or head, tail[tail.find("\n") + 1 :]
        missing = len(text) - len(head) - len(tail)
        note = f"\n[{_count(missing, 'character')} cut here to fit the context]\n"
        return _MessagePiece(f"{head}{note}{tail}", self.name, text, missing)

    def left_out(self) -> "_MessagePiece":
        """Return a note in place of the piece."""
        text = self.original or self.text
        return _MessagePiece(f"[left out to fit the context: {self.name}]\n", WHOLE, text, len(text))


@dataclass(frozen=True)
class _FittedConversation:
    """A conversation in pieces, and the indices of messages left out."""

    original: tuple[Message, ...]
    pieces: tuple[tuple[_MessagePiece, ...], ...]
    left_out: frozenset[int] = frozenset()

    def fitted(self) -> Fitted:
        """Return the conversation with the numbers of what it lacks."""
        remaining = (pieces for index, pieces in enumerate(self.pieces) if index not in self.left_out)
        missing = sum(piece.missing for pieces in remaining for piece in pieces)
        return Fitted(self.messages(), len(self.left_out), missing)

    def tokens(self) -> int:
        """Return the estimated number of tokens."""
        return estimate_prompt(self.messages())

    def messages(self) -> tuple[Message, ...]:
        """Return the remaining messages, with a note in place of those left out."""
        parts = zip(self.original, self.pieces, strict=True)
        return _without([_with_pieces(message, pieces) for message, pieces in parts], self.left_out)

    def blocks(self, name: str) -> list[tuple[int, int]]:
        """Return the blocks of a name, the last first, each as the index of its message and of its piece there."""
        return [
            (index, number)
            for index, pieces in enumerate(self.pieces)
            if index not in self.left_out
            for number, piece in enumerate(pieces)
            if piece.name == name
        ][::-1]

    def without(self, index: int, number: int) -> "_FittedConversation":
        """Return the conversation with a note in place of a block."""
        message = list(self.pieces[index])
        message[number] = message[number].left_out()
        return replace(self, pieces=(*self.pieces[:index], tuple(message), *self.pieces[index + 1 :]))

    def cut(self, length: int, after: int = -1) -> "_FittedConversation":
        """Return the conversation with longer pieces cut to about this length, in every message after this index."""
        cut = (tuple(piece.cut(length) for piece in pieces) for pieces in self.pieces[after + 1 :])
        return replace(self, pieces=(*self.pieces[: after + 1], *cut))


def _drafts(messages: Sequence[Message]) -> Iterator[_FittedConversation]:
    """Yield the conversation, then ever shorter versions of it."""
    draft = _FittedConversation(tuple(messages), tuple(_pieces(message.content) for message in messages))
    yield draft
    for name in LEFT_OUT_FIRST:
        if name == EXCHANGES:
            yield (draft := draft.cut(MAX_MESSAGE, _first_user(messages)))
        for exchange in _exchanges(messages) if name == EXCHANGES else ():
            yield (draft := replace(draft, left_out=draft.left_out | set(exchange)))
        for index, number in draft.blocks(name):
            yield (draft := draft.without(index, number))


def _pieces(content: str) -> tuple[_MessagePiece, ...]:
    pieces, end = list[_MessagePiece](), 0
    for match in _BLOCK.finditer(content):
        pieces += [_MessagePiece(content[end : match.start()]), _MessagePiece(match[2], match[1])]
        end = match.end()
    return (*pieces, _MessagePiece(content[end:]))


def _with_pieces(message: Message, pieces: Iterable[_MessagePiece]) -> Message:
    """Return the message with the text of these pieces. Its data stay the same."""
    text, content = "".join(piece.text for piece in pieces), message.content
    rendered = Rendered.known(text, content.data_digest) if isinstance(content, Rendered) else text
    return message if text == content else message.model_copy(update={"content": rendered})


def _first_user(messages: Sequence[Message]) -> int:
    return next((index for index, message in enumerate(messages) if message.role == "user"), 0)


def _exchanges(messages: Sequence[Message]) -> list[list[int]]:
    """Return the indices of the exchanges that may be left out, oldest first.

    An exchange is a reply with the messages after it. That of the last reply stays.
    """
    replies = [index for index, message in enumerate(messages) if message.role == "assistant"]
    exchanges: list[list[int]] = []
    for index in range(_first_user(messages) + 1, min(len(messages) - 1, replies[-1] if replies else len(messages))):
        if messages[index].role == "assistant" or (messages[index].role == "user" and not exchanges):
            exchanges.append([])
        if messages[index].role != "system":
            exchanges[-1].append(index)
    return exchanges


def _without(messages: Sequence[Message], left_out: Set[int]) -> tuple[Message, ...]:
    """Leave messages out and put a note in their place, so that the roles still alternate.

    If a reply follows the gap, the note is appended to the message before the gap. If a user message follows, the note
    takes the place of a reply.
    """
    if not left_out:
        return tuple(messages)
    note = f"[{_count(len(left_out), 'earlier message')} left out to fit the context]"
    start = min(left_out)
    before = messages[:start]
    after = [message for index, message in enumerate(messages) if index > start and index not in left_out]
    if after[0].role == "user":
        return (*before, Message(role="assistant", content=note), *after)
    last = before[-1]
    return (*before[:-1], Message(role=last.role, content=f"{last.content}\n\n{note}"), *after)


def _cut(draft: _FittedConversation, room: int) -> _FittedConversation:
    """Cut the longest pieces to the greatest common length at which the conversation fits."""
    fitting = draft.cut(MIN_CUT)
    if (least := fitting.tokens()) > room:
        raise ContextExceeded(
            f"even cut to {MIN_CUT} characters a message, the prompt has about {least} tokens, and the context "
            f"leaves room for {room}: raise the context or lower the tokens of a reply"
        )
    fits, too_long = MIN_CUT, max(len(piece.text) for message in draft.pieces for piece in message)
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        if (candidate := draft.cut(middle)).tokens() <= room:
            fits, fitting = middle, candidate
        else:
            too_long = middle
    return fitting


def _count(number: int, noun: str) -> str:
    return f"{number} {noun} was" if number == 1 else f"{number} {noun}s were"
