"""Streaming replies: read a reply while it arrives, and keep to what was acted upon, also after a crash."""

from collections.abc import Callable
from time import monotonic
from typing import Generic, Protocol, TypeVar

from planbook.planner.models.types import Reply

Read_co = TypeVar("Read_co", covariant=True)
Note = Callable[[str], None]
"""Record the next piece of a reply, before anything that follows from it is done."""


class ReplyReader(Protocol[Read_co]):
    """Reads one reply."""

    @property
    def waits(self) -> bool:
        """True if the reader needs the whole reply: it gets no pieces while the model writes."""

    @property
    def ran(self) -> bool:
        """True once something was done that cannot be undone."""

    @property
    def stopped_at(self) -> int | None:
        """Number of characters of the reply up to the line that ended it; None while more is wanted."""

    @property
    def failed(self) -> BaseException | None:
        """The error that ended reading, unless the reply itself did."""

    def hear(self, piece: str) -> bool:
        """Take the next piece, of any length. Return False if no more is wanted. Never raises."""

    def read(self, reply: Reply) -> Read_co:
        """Return the value of the whole reply. Raises ValueError for an unusable reply."""

    def kept(self, reply: Reply) -> str:
        """Return the part of the reply that the conversation keeps."""


class WholeReply(Generic[Read_co]):
    """Reads a reply once it is complete."""

    waits, ran, stopped_at, failed = True, False, None, None

    def __init__(self, read: Callable[[str], Read_co]) -> None:
        self._read = read

    def hear(self, piece: str) -> bool:
        """Wait for the rest."""
        return True

    def read(self, reply: Reply) -> Read_co:
        """Return the value of the reply. Raises ValueError."""
        return self._read(reply.text)

    def kept(self, reply: Reply) -> str:
        """Return the whole reply."""
        return reply.text


class ReplyStream(Generic[Read_co]):
    """Passes a model's reply on to its reader. What was acted upon is the reply, whatever the model sends later.

    ``before`` is the part that an earlier invocation acted upon before it was killed: the model must send the same
    again, or the reply is ``contradicted``. If a stream breaks and restarts differently, the part that was acted upon
    stands and the rest is dropped.
    """

    def __init__(self, listen: Callable[[], ReplyReader[Read_co]], before: str) -> None:
        self._listen, self._before = listen, before
        self.listener = listen()
        self._text, self._half, self._told = "", "", 0
        self._seconds = 0.0
        self.contradicted = False
        """True if the model now sends something other than what an earlier invocation acted upon."""

    def __call__(self, piece: str) -> bool:
        """Pass on what is new, once everything received before has arrived again. False stops the reply."""
        self._text += self._whole_characters(piece)
        if not self._text.startswith(self._before[: len(self._text)]):
            return False
        return len(self._text) < len(self._before) or self._pass_on()

    def repeat(self, reply: Reply) -> None:
        """Read a reply from the journal."""
        self._before, self._text = "", reply.text
        self._pass_on()

    def settle(self, reply: Reply) -> Reply:
        """Return the final reply, fully read, without the reader's time in its seconds.

        A reply that was stopped ends with the line that stopped it, however it was cut into pieces.
        """
        reply = self._agreed(reply.model_copy(update={"seconds": max(0.0, reply.seconds - self._seconds)}))
        stopped_at = self.listener.stopped_at
        if stopped_at is None:
            return reply
        return reply.model_copy(update={"text": reply.text[:stopped_at], "finish": "cut"})

    def _agreed(self, reply: Reply) -> Reply:
        """Return the reply, fully read; or the part already read, where the model now sends something else."""
        if reply.text.startswith(self._text[: self._told] or self._before):
            self._text = reply.text
            self._pass_on()
            return reply
        if not self._told and self._before:
            self.contradicted = True
            return reply.model_copy(update={"text": self._before, "finish": "cut"})
        if not self.listener.ran:
            self.listener, self._text, self._told = self._listen(), reply.text, 0
            self._pass_on()
            return reply
        return reply.model_copy(update={"text": self._text[: self._told], "finish": "cut"})

    def _pass_on(self) -> bool:
        begun, new = monotonic(), self._text[self._told :]
        self._told = len(self._text)
        more = self.listener.hear(new)
        self._seconds += monotonic() - begun
        return more

    def _whole_characters(self, piece: str) -> str:
        """Return the piece without a trailing half character, and with the half kept from the piece before."""
        piece, self._half = self._half + piece, ""
        if piece and "\ud800" <= piece[-1] <= "\udbff":
            piece, self._half = piece[:-1], piece[-1]
        return piece.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
