"""Read a reply of a model while it arrives.

A reader may act on a part of the reply before the rest has arrived. That part is recorded first, so that the final
reply contains it no matter what happens later: the process may be killed, or the model may answer differently the next
time.
"""

from collections.abc import Callable
from time import monotonic
from typing import Generic, Protocol, TypeVar

from planbook.planner.models.types import Reply
from planbook.sandbox import read_reply

Read_co = TypeVar("Read_co", covariant=True)
RecordPiece = Callable[[str], None]
"""Records the next piece of a reply. It is called before a reader acts on the piece."""


class ReplyReader(Protocol[Read_co]):
    """Reads one reply, piece by piece."""

    needs_whole_reply: bool
    """True if the reader gets no pieces while the model is writing, because it needs the whole reply."""
    stopped_at: int | None
    """Number of characters up to the end of the line at which the reader stopped, or None if it did not stop."""
    error: BaseException | None
    """The error that made the reader stop, or None if there is none."""

    @property
    def has_acted(self) -> bool:
        """True once the reader has done something that cannot be undone."""

    def feed(self, piece: str) -> bool:
        """Take the next piece, of any length. Return False to stop the reply. It never raises an exception."""

    def read(self, reply: Reply) -> Read_co:
        """Return the value that the reader gets from the whole reply. Raises ValueError if the reply is unusable."""

    def kept_part(self, reply: Reply) -> str:
        """Return the text that later prompts show as the reply."""


def broke_off(reply: Reply) -> bool:
    """Return True if a reply was cut off and may have ended inside its code, so that its plan is incomplete."""
    if reply.finish == "stop":
        return False
    whole = read_reply(reply.text)
    return bool(whole.code) and not whole.closed


class WholeReply(Generic[Read_co]):
    """Reads a reply only when it is complete."""

    needs_whole_reply, has_acted = True, False
    stopped_at: int | None = None
    error: BaseException | None = None

    def __init__(self, read: Callable[[str], Read_co]) -> None:
        self._read = read

    def feed(self, piece: str) -> bool:
        """Do nothing until the reply is complete."""
        return True

    def read(self, reply: Reply) -> Read_co:
        """Return the value of the reply. Raises ValueError if the reply is unusable."""
        if broke_off(reply):
            raise ValueError("the reply broke off inside its code")
        return self._read(reply.text)

    def kept_part(self, reply: Reply) -> str:
        """Return the whole reply."""
        return reply.text


class ReplyStream(Generic[Read_co]):
    """Passes a model's reply on to its reader.

    The part that the reader has acted on stays in the reply, no matter what the model sends later. If the connection
    breaks and the model then sends a different reply, that reply is dropped. ``recorded`` is the part that an earlier
    invocation acted on before it was killed. If the model does not begin with it again, ``contradicted`` becomes True.
    """

    def __init__(self, new_reader: Callable[[], ReplyReader[Read_co]], recorded: str) -> None:
        self._new_reader, self._recorded = new_reader, recorded
        self.reader = new_reader()
        self._text, self._surrogate, self._passed = "", "", 0
        self._seconds = 0.0
        self.contradicted = False
        """True if the model's reply does not begin with the part that an earlier invocation acted on."""

    def __call__(self, piece: str) -> bool:
        """Take a piece, and pass on new text after the recorded part has been repeated. False stops the reply."""
        self._text += self._whole_characters(piece)
        if not self._text.startswith(self._recorded[: len(self._text)]):
            return False
        return len(self._text) < len(self._recorded) or self._pass_on()

    def repeat(self, reply: Reply) -> None:
        """Read a complete reply that comes from the journal."""
        self._recorded, self._text = "", reply.text
        self._pass_on()

    def settle(self, reply: Reply) -> Reply:
        """Pass on the rest of the reply. Return the final reply. Its seconds do not include the reader's.

        If the reader stopped the reply, it ends with the line at which the reader stopped, whatever pieces came later.
        """
        reply = self._reconcile(reply.model_copy(update={"seconds": max(0.0, reply.seconds - self._seconds)}))
        stopped_at = self.reader.stopped_at
        if stopped_at is None:
            return reply
        return reply.model_copy(update={"text": reply.text[:stopped_at], "finish": "cut"})

    def _reconcile(self, reply: Reply) -> Reply:
        """Pass on the rest and return the reply. If the part that was acted on differs, return only that part."""
        if reply.text.startswith(self._text[: self._passed] or self._recorded):
            self._text = reply.text
            self._pass_on()
            return reply
        if not self._passed and self._recorded:
            self.contradicted = True
            return reply.model_copy(update={"text": self._recorded, "finish": "cut"})
        if not self.reader.has_acted:
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
        """Return the piece without a high surrogate at its end, which is kept and put before the next piece."""
        piece, self._surrogate = self._surrogate + piece, ""
        if piece and "\ud800" <= piece[-1] <= "\udbff":
            piece, self._surrogate = piece[:-1], piece[-1]
        return piece.encode("utf-16", "surrogatepass").decode("utf-16", "surrogatepass")
