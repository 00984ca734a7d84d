"""Shorten a conversation so that it fits into a model's context.

A prompt marks some of its texts as blocks: those that may be left out of a long conversation, and those that must not
be cut. A note replaces a text that is left out. An exchange is a reply of the model together with the messages after
it, up to the next reply.
"""

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import dataclass, replace

from planbook.planner.errors import ContextExceeded
from planbook.planner.models.types import Message, Sampling, estimate_prompt
from planbook.planner.types import RenderedText

EXCHANGES = "earlier messages"
DROP_ORDER = (
    "code of an earlier task",
    "a failure at an earlier task",
    "other tasks",
    EXCHANGES,
    "example of a rule",
    "demonstration",
)
"""The names of the blocks that may be left out, in the order of removal.

Of several blocks with the same name, the last is left out first. At EXCHANGES, whole exchanges are left out, the
oldest first.
"""
WHOLE = "whole"
"""Name of the blocks whose text is never cut, such as an episode that the model has to judge."""
OPEN, NAME_END, CLOSE = "\x02", "\x03", "\x04"
"""A marked block is OPEN, its name, NAME_END, its text and CLOSE. ``fit`` removes the marks, so no model sees them."""
_BLOCK = re.compile(f"{OPEN}({'|'.join((*DROP_ORDER, WHOLE))}){NAME_END}(.*?){CLOSE}", re.DOTALL)


def prompt_block(text: str, name: str) -> str:
    """Mark a text as a block with this name. Raises ValueError if the name is unknown."""
    if name not in (*DROP_ORDER, WHOLE):
        raise ValueError(f"unknown name of a block: {name!r}; the names are {', '.join(DROP_ORDER)} and {WHOLE}")
    return f"{OPEN}{name}{NAME_END}{text}{CLOSE}" if text.strip() else text


def without_block_marks(text: str) -> str:
    """Return the text without the marks around its blocks, so that it can be shown to people."""
    return "".join(piece.text for piece in _pieces(text))


def section_blocks(text: str, name: str) -> str:
    """Mark each section of a Markdown text as a block with this name. A section begins at a heading ``## ...``."""
    head, *sections = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    return "".join([head, *(prompt_block(section, name) for section in sections)])


MIN_CUT = 400
"""A text that is cut keeps at least about this many characters."""
MAX_MESSAGE = 16_000
"""Before exchanges are left out, texts after the first user message are cut to at most this many characters."""


@dataclass(frozen=True)
class FittedPrompt:
    """A conversation that fits into the context.

    ``left_out`` is the number of messages that were left out. ``cut_characters`` is the number of characters that are
    missing from the remaining messages.
    """

    messages: tuple[Message, ...]
    left_out: int = 0
    cut_characters: int = 0


def prompt_limit(sampling: Sampling) -> int:
    """Return the maximum number of tokens of a prompt: the context without the tokens for the reply.

    If the length of the reply is not limited, half of the context is kept for it.
    """
    return sampling.context - (sampling.max_tokens or sampling.context // 2)


def fit(messages: Sequence[Message], max_tokens: int) -> FittedPrompt:
    """Shorten a conversation to at most ``max_tokens`` estimated tokens. Raises ContextExceeded if this is impossible.

    Parts are left out one by one in the order of ``DROP_ORDER``, and replaced by a note. System messages, the first
    user message, the last reply and the last message are never left out. Before whole exchanges are left out, texts
    after the first user message are cut to ``MAX_MESSAGE`` characters, so that one long text does not displace all
    others.

    If the conversation is still too long, the longest texts that may be cut are cut to a common length: the greatest at
    which the conversation fits. A text loses its middle, in whole lines if possible, and a note says how many
    characters are missing.
    """
    for conversation in _shortened_conversations(messages):
        if conversation.tokens() <= max_tokens:
            return conversation.fitted()
    return _cut_longest(conversation, max_tokens).fitted()


@dataclass(frozen=True)
class _MessagePiece:
    """A piece of a message: a block, whose name is ``name``, or the text between two blocks, which has no name.

    ``original`` is the whole text of a piece that was cut or left out, otherwise empty.
    """

    text: str
    name: str = ""
    original: str = ""
    missing: int = 0
    """Number of characters of the original that are missing from the text."""

    def cut(self, length: int) -> "_MessagePiece":
        """Return the piece, without its middle if it has more than ``length`` characters.

        If possible, the cut is between two lines.
        """
        text = self.original or self.text
        if len(text) <= length or self.name == WHOLE:
            return self
        head, tail = text[: length // 2], text[len(text) - (length - length // 2) :]
        head, tail = head[: head.rfind("\n") + 1].rstrip("\n") or head, tail[tail.find("\n") + 1 :]
        missing = len(text) - len(head) - len(tail)
        note = f"\n[{_count_with_verb(missing, 'character')} cut here to fit the context]\n"
        return _MessagePiece(f"{head}{note}{tail}", self.name, text, missing)

    def left_out(self) -> "_MessagePiece":
        """Return a note that replaces this piece."""
        text = self.original or self.text
        return _MessagePiece(f"[left out to fit the context: {self.name}]\n", WHOLE, text, len(text))


@dataclass(frozen=True)
class _ShortenedConversation:
    """A conversation that is being shortened: the pieces of its messages, and the indices of messages left out."""

    original: tuple[Message, ...]
    pieces: tuple[tuple[_MessagePiece, ...], ...]
    left_out: frozenset[int] = frozenset()

    def fitted(self) -> FittedPrompt:
        """Return the shortened conversation, with the numbers of missing messages and characters."""
        remaining = (pieces for index, pieces in enumerate(self.pieces) if index not in self.left_out)
        missing = sum(piece.missing for pieces in remaining for piece in pieces)
        return FittedPrompt(self.messages(), len(self.left_out), missing)

    def tokens(self) -> int:
        """Return the estimated number of tokens in the remaining messages."""
        return estimate_prompt(self.messages())

    def messages(self) -> tuple[Message, ...]:
        """Return the remaining messages, with a note in place of the messages that are left out."""
        parts = zip(self.original, self.pieces, strict=True)
        return _without_messages([_with_pieces(message, pieces) for message, pieces in parts], self.left_out)

    def blocks(self, name: str) -> list[tuple[int, int]]:
        """Return the blocks with this name, beginning with the last block of the conversation.

        Each block is a pair: the index of its message, and the index of its piece in that message.
        """
        return [
            (index, number)
            for index, pieces in enumerate(self.pieces)
            if index not in self.left_out
            for number, piece in enumerate(pieces)
            if piece.name == name
        ][::-1]

    def without_block(self, index: int, number: int) -> "_ShortenedConversation":
        """Return the conversation with a note in place of a block. ``blocks`` returns its two indices."""
        message = list(self.pieces[index])
        message[number] = message[number].left_out()
        return replace(self, pieces=(*self.pieces[:index], tuple(message), *self.pieces[index + 1 :]))

    def cut(self, length: int, after: int = -1) -> "_ShortenedConversation":
        """Return the conversation with each piece of the messages after index ``after`` cut to about ``length``."""
        cut = (tuple(piece.cut(length) for piece in pieces) for pieces in self.pieces[after + 1 :])
        return replace(self, pieces=(*self.pieces[: after + 1], *cut))


def _shortened_conversations(messages: Sequence[Message]) -> Iterator[_ShortenedConversation]:
    """Yield the whole conversation, and then shorter and shorter versions of it."""
    conversation = _ShortenedConversation(tuple(messages), tuple(_pieces(message.content) for message in messages))
    yield conversation
    for name in DROP_ORDER:
        if name == EXCHANGES:
            yield (conversation := conversation.cut(MAX_MESSAGE, _first_user(messages)))
        for exchange in _exchanges(messages) if name == EXCHANGES else ():
            yield (conversation := replace(conversation, left_out=conversation.left_out | set(exchange)))
        for index, number in conversation.blocks(name):
            yield (conversation := conversation.without_block(index, number))


def _pieces(content: str) -> tuple[_MessagePiece, ...]:
    pieces, end = list[_MessagePiece](), 0
    for match in _BLOCK.finditer(content):
        pieces += [_MessagePiece(content[end : match.start()]), _MessagePiece(match[2], match[1])]
        end = match.end()
    return (*pieces, _MessagePiece(content[end:]))


def _with_pieces(message: Message, pieces: Iterable[_MessagePiece]) -> Message:
    """Return the message with the text of these pieces. Its digest does not change, so recorded replies still match."""
    text, content = "".join(piece.text for piece in pieces), message.content
    rendered = RenderedText.with_digest(text, content.data_digest) if isinstance(content, RenderedText) else text
    return message if text == content else message.model_copy(update={"content": rendered})


def _first_user(messages: Sequence[Message]) -> int:
    return next((index for index, message in enumerate(messages) if message.role == "user"), 0)


def _exchanges(messages: Sequence[Message]) -> list[list[int]]:
    """Return the exchanges that may be left out, the oldest first, each as a list of the indices of its messages.

    The exchange of the last reply is never one of them.
    """
    replies = [index for index, message in enumerate(messages) if message.role == "assistant"]
    exchanges: list[list[int]] = []
    for index in range(_first_user(messages) + 1, min(len(messages) - 1, replies[-1] if replies else len(messages))):
        if messages[index].role == "assistant" or (messages[index].role == "user" and not exchanges):
            exchanges.append([])
        if messages[index].role != "system":
            exchanges[-1].append(index)
    return exchanges


def _without_messages(messages: Sequence[Message], left_out: Set[int]) -> tuple[Message, ...]:
    """Return the messages without those at the indices in ``left_out``, and with a note in the gap.

    The roles of user and assistant still alternate. If a reply follows the gap, the note is
    appended to the message before the gap. If a user message follows, the note becomes a message of the assistant.
    """
    if not left_out:
        return tuple(messages)
    note = f"[{_count_with_verb(len(left_out), 'earlier message')} left out to fit the context]"
    start = min(left_out)
    before = messages[:start]
    after = [message for index, message in enumerate(messages) if index > start and index not in left_out]
    if after[0].role == "user":
        return (*before, Message(role="assistant", content=note), *after)
    last_message = before[-1]
    with_note = Message(role=last_message.role, content=f"{last_message.content}\n\n{note}")
    return (*before[:-1], with_note, *after)


def _cut_longest(conversation: _ShortenedConversation, max_tokens: int) -> _ShortenedConversation:
    """Cut the longest pieces to a common length: the greatest at which the conversation fits."""
    fitting = conversation.cut(MIN_CUT)
    if (min_tokens := fitting.tokens()) > max_tokens:
        raise ContextExceeded(
            f"even with each message cut to {MIN_CUT} characters, the prompt has about {min_tokens} tokens, but the "
            f"context leaves room for {max_tokens}: raise the context or lower the token limit of replies"
        )
    fits, too_long = MIN_CUT, max(len(piece.text) for message in conversation.pieces for piece in message)
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        if (candidate := conversation.cut(middle)).tokens() <= max_tokens:
            fits, fitting = middle, candidate
        else:
            too_long = middle
    return fitting


def _count_with_verb(number: int, noun: str) -> str:
    return f"{number} {noun} was" if number == 1 else f"{number} {noun}s were"
