"""A reply that is read while it comes: what was heard of it, also before a crash, and what becomes of its end."""

from collections.abc import Callable
from time import monotonic
from typing import Generic, Protocol, TypeVar

from planbook.planner.models.types import Reply

Read_co = TypeVar("Read_co", covariant=True)
Note = Callable[[str], None]
"""Writes down the next piece of a reply, before anything is done that follows from it."""


class ReplyReader(Protocol[Read_co]):
    """Hears one reply."""

    @property
    def waits(self) -> bool:
        """Whether it does nothing before the whole reply is there: no piece is sent to it while the model speaks."""

    @property
    def ran(self) -> bool:
        """Whether anything was done that cannot be taken back."""

    @property
    def stopped_at(self) -> int | None:
        """How many characters of the reply there are up to the line by which no more was wanted; None while more is."""

    @property
    def failed(self) -> BaseException | None:
        """What ended the listening, where that was no end of the reply's own."""

    def hear(self, piece: str) -> bool:
        """Take in the next piece, in whatever pieces it comes; False where no more is wanted. Never raises."""

    def read(self, reply: Reply) -> Read_co:
        """Make of the reply what is left to be made of it. Raises ValueError for one that cannot be used."""

    def kept(self, reply: Reply) -> str:
        """What the conversation keeps of the reply, once it was read."""


class WholeReply(Generic[Read_co]):
    """Reads a reply when it is there, whole."""

    waits, ran, stopped_at, failed = True, False, None, None

    def __init__(self, read: Callable[[str], Read_co]) -> None:
        self._read = read

    def hear(self, piece: str) -> bool:
        """Wait for the rest."""
        return True

    def read(self, reply: Reply) -> Read_co:
        """Read it. Raises ValueError."""
        return self._read(reply.text)

    def kept(self, reply: Reply) -> str:
        """All of it."""
        return reply.text


class ReplyStream(Generic[Read_co]):
    """Stands between a model and who listens to its reply; what was acted upon once is the reply, whatever follows.

    ``before`` is what an earlier sitting had acted upon when it was killed: the model has to say the same again, else
    the reply is ``contradicted``. Where a stream broke and began anew otherwise, what was acted upon stands, and the
    rest is done without.
    """

    def __init__(self, listen: Callable[[], ReplyReader[Read_co]], before: str) -> None:
        self._listen, self._before = listen, before
        self.listener = listen()
        self._text, self._half, self._told = "", "", 0
        self._seconds = 0.0
        self.contradicted = False
        """Whether the model says otherwise now than what an earlier sitting acted upon."""

    def __call__(self, piece: str) -> bool:
        """Pass on what is new, once all that was heard before has been said again; False stops the reply."""
        self._text += self._whole_characters(piece)
        if not self._text.startswith(self._before[: len(self._text)]):
            return False
        return len(self._text) < len(self._before) or self._pass_on()

    def repeat(self, reply: Reply) -> None:
        """Hear a reply out of the journal."""
        self._before, self._text = "", reply.text
        self._pass_on()

    def settle(self, reply: Reply) -> Reply:
        """The reply as it stands, all of it heard; the time that the listener took is not the model's.

        One that was stopped ends with the line that stopped it, in whatever pieces it came.
        """
        reply = self._agreed(reply.model_copy(update={"seconds": max(0.0, reply.seconds - self._seconds)}))
        stopped_at = self.listener.stopped_at
        if stopped_at is None:
            return reply
        return reply.model_copy(update={"text": reply.text[:stopped_at], "finish": "cut"})

    def _agreed(self, reply: Reply) -> Reply:
        """The reply, all of it heard; or as much as was heard, where it now says otherwise."""
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
        """The piece without a half of a character at its end, and with the one that the piece before ended with."""
        piece, self._half = self._half + piece, ""
        if piece and "\ud800" <= piece[-1] <= "\udbff":
            piece, self._half = piece[:-1], piece[-1]
        return piece.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
