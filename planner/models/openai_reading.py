"""Reading a reply as it streams in."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import openai
from openai.types.chat import ChatCompletion

from planbook.planner.models.openai_failures import BrokenStream, OtherApi
from planbook.planner.models.types import Finish, OnText, Usage

EVENTS = "text/event-stream"
"""Content type of a streamed reply."""
_FINISHES: dict[str, Finish] = {"length": "length", "content_filter": "refused"}


class Hearing:
    """One listener across several streams of the same reply, which it receives as one text.

    After a broken stream, the next continues where the broken one ended, if it begins the same. If not, the listener
    gets nothing more, and only the final text counts.
    """

    def __init__(self, on_text: OnText | None) -> None:
        self._on_text, self._told = on_text, ""

    def tell(self, so_far: str) -> bool:
        """Pass on the text of the present stream. Return False if the listener wants no more."""
        if self._on_text is None or len(so_far) <= len(self._told) or not so_far.startswith(self._told):
            return True
        piece, self._told = so_far[len(self._told) :], so_far
        return self._on_text(piece)


@dataclass
class Received:
    """The parts of a reply; ``reason`` is the server's reason for its end, None while it has not ended."""

    text: str = ""
    refusal: str = ""
    reasoning: str = ""
    reason: str | None = None
    usage: Usage | None = None
    model: str = ""
    cut: bool = False

    @property
    def finish(self) -> Finish:
        """Return why the reply ended; an empty reply is a refusal."""
        if self.cut:
            return "cut"
        if self.refusal or not (self.text or self.reason == "length"):
            return "refused"
        return _FINISHES.get(self.reason or "", "stop")


def read_stream(chunks: Iterable[Mapping[str, Any]], hearing: Hearing) -> Received:
    """Read the chunks of a reply, or as many as the listener wants. Raises BrokenStream and openai.APIError."""
    received = Received()
    try:
        for chunk in chunks:
            _take(received, chunk)
            if not hearing.tell(received.text):
                received.cut = True
                return _joined(received)
    except (openai.APIError, BrokenStream):
        if received.reason is None:
            raise  # else the text is whole, and only the count of its tokens is lost
    if received.reason is None:
        raise BrokenStream("the reply's stream ended without a finish_reason")
    return _joined(received)


def read_whole(completion: object, hearing: Hearing) -> Received:
    """Return a reply that came in one piece. Raises BrokenStream if it is not a reply."""
    if not isinstance(completion, ChatCompletion) or not completion.choices:
        raise BrokenStream("the server answered with something that is no chat completion")
    choice = completion.choices[0]
    received = Received(
        text=choice.message.content or "",
        refusal=choice.message.refusal or "",
        reasoning=_reasoning(choice.message.model_dump()),
        reason=choice.finish_reason,
        usage=_usage(completion.usage.model_dump() if completion.usage else None),
        model=completion.model or "",
    )
    hearing.tell(received.text)
    return _joined(received)


def chunks_of(stream: openai.Stream[object]) -> Iterator[Mapping[str, Any]]:
    """Yield the JSON objects of a stream, and close it at the end. Raises BrokenStream, OtherApi, openai.APIError."""
    kind = stream.response.headers.get("content-type", "").partition(";")[0]
    empty = True
    with stream:
        try:
            for chunk in stream:
                if not isinstance(chunk, Mapping):
                    raise BrokenStream(f"the reply's stream holds a piece that is no object: {chunk!r}")
                empty = False
                yield chunk
        except ValueError as error:
            raise BrokenStream(f"the reply's stream holds a piece that is no JSON: {error}") from error
    if empty and kind != EVENTS:
        raise OtherApi(f"it answers with {kind or 'no content type'}, where a stream of {EVENTS} was asked for")


def _take(received: Received, chunk: Mapping[str, Any]) -> None:
    """Add one chunk; servers differ in what they leave out of it."""
    received.model = chunk.get("model") or received.model
    received.usage = _usage(chunk.get("usage")) or received.usage
    for choice in chunk.get("choices") or ():
        delta = choice.get("delta") or {}
        received.text += delta.get("content") or ""
        received.refusal += delta.get("refusal") or ""
        received.reasoning += _reasoning(delta)
        received.reason = choice.get("finish_reason") or received.reason


def _reasoning(message: Mapping[str, Any]) -> str:
    """Return what the server says of the model's thoughts: servers use one of two names for it."""
    said = message.get("reasoning_content") or message.get("reasoning")
    return said if isinstance(said, str) else ""


def _usage(counted: Mapping[str, Any] | None) -> Usage | None:
    """Return the server's count, if it has one."""
    if not counted or not counted.get("prompt_tokens"):
        return None
    details = counted.get("prompt_tokens_details") or {}
    return Usage(
        prompt=counted["prompt_tokens"],
        completion=counted.get("completion_tokens") or 0,
        cached=min(details.get("cached_tokens") or 0, counted["prompt_tokens"]),
    )


def _joined(received: Received) -> Received:
    """Join characters that came as two halves in two pieces."""
    received.text = received.text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    received.reasoning = received.reasoning.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return received
