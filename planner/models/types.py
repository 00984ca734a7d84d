"""What is said to a language model and what comes back: the one protocol between us and any of them."""

from collections.abc import Callable, Sequence
from typing import Literal, Protocol

from pydantic import Field

from planbook.planner.rendered import Rendered, Text, digest
from planbook.planner.types import Record

Speaker = Literal["system", "user", "assistant"]
OnText = Callable[[str], bool]
"""PlanResult of each new piece of a reply; returning False stops the reply there."""


class Message(Record):
    """One message of a conversation."""

    role: Speaker
    content: Text

    @property
    def data(self) -> str:
        """The digest of the data that the content was made from; of the content itself where that is not known."""
        return self.content.data if isinstance(self.content, Rendered) else digest(self.content)


class Sampling(Record):
    """How a reply is drawn; a value of None is not sent at all, for servers that refuse it."""

    temperature: float | None = 0.0
    max_tokens: int | None = Field(default=4_000, ge=1)
    """Tokens of one reply."""
    context: int = Field(default=16_000, ge=500)
    """Tokens that prompt and reply may have together."""
    seed: int | None = 0
    stop: tuple[str, ...] = ()
    sample: int = 0
    """Which draw of the same request this is, from 0: at a temperature above 0, two draws are two replies."""


class Usage(Record):
    """Tokens, as the server counts them; ``estimated`` where it does not say. ``cached`` are among the prompt's."""

    prompt: int = 0
    completion: int = 0
    cached: int = 0
    estimated: bool = False

    @property
    def total(self) -> int:
        """Prompt and completion together."""
        return self.prompt + self.completion


Finish = Literal["stop", "length", "cut", "refused"]
"""Why a reply ended: by itself, at max_tokens, because ``on_text`` said so, or by the server's content filter."""


class Reply(Record):
    """What a model answered. ``model`` is the name that the server gives; ``seconds`` is how long it took."""

    text: str
    finish: Finish = "stop"
    usage: Usage = Usage()
    model: str = ""
    seconds: float = 0.0
    replayed: bool = False
    """Taken from a recording: it cost nothing."""
    reasoning: str = Field(default="", exclude_if=lambda reasoning: not reasoning)
    """What the model thought before it answered; never read as a plan, nor sent back."""
    reworded: bool = Field(default=False, exclude_if=lambda reworded: not reworded)
    """Recorded for a prompt of the same data in other words."""


class Model(Protocol):
    """Anything that answers a conversation. May be called from several threads at once."""

    name: str
    """The whole name by which it was asked for, such as ``openai:gpt-4o-mini``."""

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        """Answer. Raises ModelError and its kinds."""
