"""Streaming replies: read a reply while it arrives. The part acted upon is kept, even after a crash."""

from collections.abc import Callable
from time import monotonic
from typing import Generic, Protocol, TypeVar

from planbook.planner.models.types import Reply
from planbook.sandbox import read_reply

Read_co = TypeVar("Read_co", covariant=True)
RecordPiece = Callable[[str], None]
"""Records the next piece of a reply before it is acted upon."""


class ReplyReader(Protocol[Read_co]):
    """Reads one reply."""

    @property
    def waits(self) -> bool:
        """True if the reader needs the whole reply and gets no pieces while the model writes."""

    @property
    def ran(self) -> bool:
        """True once the reader has done something that cannot be undone."""

    @property
    def stopped_at(self) -> int | None:
        """Number of characters up to the end of the line that ended the reply; None while more is wanted."""

    @property
    def failed(self) -> BaseException | None:
        """The error that ended reading; None if none did."""

    def feed(self, piece: str) -> bool:
        """Take the next piece, of any length. Return False if no more is wanted. Never raises."""

    def read(self, reply: Reply) -> Read_co:
        """Return the value of the whole reply. Raises ValueError for an unusable reply."""

    def kept(self, reply: Reply) -> str:
        """Return the part of the reply that the conversation keeps."""


def broke_off(reply: Reply) -> bool:
    """Return True if an incomplete reply may have ended inside its code, which is then not a whole plan."""
    if reply.finish == "stop":
        return False
    whole = read_reply(reply.text)
    return bool(whole.code) and not whole.closed


class WholeReply(Generic[Read_co]):
    """Reads a reply once it is complete."""

    waits, ran, stopped_at, failed = True, False, None, None

    def __init__(self, read: Callable[[str], Read_co]) -> None:
        self._read = read

    def feed(self, piece: str) -> bool:
        """Wait for the rest."""
        return True

    def read(self, reply: Reply) -> Read_co:
        """Return the value of the reply. Raises ValueError."""
        if broke_off(reply):
            raise ValueError("the reply broke off inside its code")
        return self._read(reply.text)

    def kept(self, reply: Reply) -> str:
        """Return the whole reply."""
        return reply.text


class ReplyStream(Generic[Read_co]):
    """Passes a model's reply on to its reader. The part acted upon is kept, whatever the model sends later.

    ``before`` is the part that an earlier invocation acted upon before it was killed: the model must send the same
    again, or the reply is ``contradicted``. If a stream breaks and restarts differently, the part acted upon
    is kept and the rest is dropped.
    """

    def __init__(self, new_reader: Callable[[], ReplyReader[Read_co]], before: str) -> None:
        self._new_reader, self._before = new_reader, before
        self.reader = new_reader()
        self._text, self._surrogate, self._passed = "", "", 0
        self._seconds = 0.0
        self.contradicted = False
        """True if the model now sends a different text from the one that an earlier invocation acted upon."""

    def __call__(self, piece: str) -> bool:
        """Pass on new text, once the part acted upon before has arrived again. Return False to stop the reply."""
        self._text += self._whole_characters(piece)
        if not self._text.startswith(self._before[: len(self._text)]):
            return False
        return len(self._text) < len(self._before) or self._pass_on()

    def repeat(self, reply: Reply) -> None:
        """Read a reply from the journal."""
        self._before, self._text = "", reply.text
        self._pass_on()

    def settle(self, reply: Reply) -> Reply:
        """Return the final reply, fully read. Its seconds exclude those of the reader.

        A reply that was stopped ends with the line that stopped it, however it was cut into pieces.
        """
        reply = self._reconcile(reply.model_copy(update={"seconds": max(0.0, reply.seconds - self._seconds)}))
        stopped_at = self.reader.stopped_at
        if stopped_at is None:
            return reply
        return reply.model_copy(update={"text": reply.text[:stopped_at], "finish": "cut"})

    def _reconcile(self, reply: Reply) -> Reply:
        """Return the reply, fully read; or only the part already read, if the model now sends a different text."""
        if reply.text.startswith(self._text[: self._passed] or self._before):
            self._text = reply.text
            self._pass_on()
            return reply
        if not self._passed and self._before:
            self.contradicted = True
            return reply.model_copy(update={"text": self._before, "finish": "cut"})
        if not self.reader.ran:
            self.reader, self._text, self._passed = self._new_reader(), reply.text, 0
            self._pass_on()
            return reply
        return reply.model_copy(update={"text": self._text[: self._passed], "finish": "cut"})

    def _pass_on(self) -> bool:
        start, new = monotonic(), self._text[self._passed :]
        self._passed = len(self._text)
        more = self.reader.feed(new)
        self._seconds += monotonic() - start
        return more

    def _whole_characters(self, piece: str) -> str:
        """Return the piece after any high surrogate held back from the previous one. Hold back a trailing one."""
        piece, self._surrogate = self._surrogate + piece, ""
        if piece and "\ud800" <= piece[-1] <= "\udbff":
            piece, self._surrogate = piece[:-1], piece[-1]
        return piece.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
