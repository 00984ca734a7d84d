"""Messages, sampling and replies: the one protocol between planbook and any language model."""

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from pydantic import Field

from planbook.planner.rendered import Rendered, Text, digest
from planbook.planner.types import Record

Speaker = Literal["system", "user", "assistant"]
OnText = Callable[[str], bool]
"""Called with each new piece of a reply; returning False stops the reply there."""


class Message(Record):
    """One message of a conversation."""

    role: Speaker
    content: Text

    @property
    def data(self) -> str:
        """The digest of the data that the content was made from; of the content itself if unknown."""
        return self.content.data if isinstance(self.content, Rendered) else digest(self.content)


class Sampling(Record):
    """Sampling parameters of a reply; None is not sent at all, for servers that refuse the parameter."""

    temperature: float | None = 0.0
    max_tokens: int | None = Field(default=4_000, ge=1)
    """Maximum tokens of one reply."""
    context: int = Field(default=16_000, ge=500)
    """Maximum tokens of prompt and reply together."""
    seed: int | None = 0
    stop: tuple[str, ...] = ()
    sample: int = 0
    """Index of the sample of the same request, from 0: above temperature 0, two samples are two replies."""


class Usage(Record):
    """Tokens as the server counts them; ``estimated`` if it does not. ``cached`` tokens are among the prompt's."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    estimated: bool = False

    @property
    def total(self) -> int:
        """Number of prompt and completion tokens."""
        return self.prompt + self.completion


Finish = Literal["stop", "length", "cut", "refused"]
"""Why a reply ended: by itself, at max_tokens, because ``on_text`` stopped it, or by the server's content filter."""


class Reply(Record):
    """A model's reply. ``model`` is the server's name for the model; ``seconds`` is the time it took."""

    text: str
    finish: Finish = "stop"
    usage: Usage = Usage()
    model: str = ""
    seconds: float = 0.0
    replayed: bool = False
    """True if it comes from a recording and cost nothing."""
    reasoning: str = Field(default="", exclude_if=lambda reasoning: not reasoning)
    """The model's reasoning before its answer. It is never read as a plan, nor sent back."""
    reworded: bool = Field(default=False, exclude_if=lambda reworded: not reworded)
    """True if it was recorded for a prompt with the same data in other words."""


class Model(Protocol):
    """Any object that answers a conversation. Several threads may call it at once."""

    name: str
    """Full name by which it was asked for, such as ``openai:gpt-4o-mini``."""

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        """Return a reply. Raises ModelError and its subclasses."""
