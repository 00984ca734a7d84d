"""Replies and failures of an OpenAI-compatible server."""

import re
import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from email.utils import parsedate_to_datetime
from typing import Any, TypeGuard

import openai

from planbook.planner.errors import ContextExceeded, ModelError, ModelRefused, ModelUnavailable
from planbook.planner.models.types import Finish, OnText, Usage

MAX_WAIT = 120.0
"""Maximum number of seconds to wait at a server's request."""
BUSY_FACTOR = 3
"""Factor for the number of retries if a server limits the rate of requests."""
MIN_KEY_LENGTH = 8
MAX_QUOTE = 400
"""Maximum number of characters quoted from a server's message."""
NOT_RETRYABLE = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
"""Error codes of a 429 response that waiting does not resolve."""
_CONTEXT_CODES = frozenset({"context_length_exceeded", "exceed_context_size_error"})
_TOO_LONG = re.compile(
    r"(?P<context>context.{0,20}(length|size|window))|(prompt|input).{0,40}(too long|too large|exceed|must be <=)"
    r"|too many tokens|reduce the length|range of input length",
    re.IGNORECASE,
)
_ADVICE: Mapping[int, str] = {
    401: "check OPENAI_API_KEY",
    402: "the account has no credit left",
    403: "this key may not use this model",
    404: "check the model's name, and that OPENAI_BASE_URL ends where the server's API begins, usually in /v1",
    429: "the account's quota is used up: waiting does not help",
}


class BrokenStream(Exception):
    """A reply that broke off, or that could not be read."""


class OtherApi(BrokenStream):
    """An answer that does not come from an OpenAI-compatible server, such as a web page."""


Failure = openai.APIError | BrokenStream
_RETRYABLE = (
    BrokenStream,
    openai.APIConnectionError,  # timeouts too
    openai.ConflictError,
    openai.RateLimitError,
    openai.InternalServerError,
)


def is_too_long(error: Failure) -> bool:
    """Return True if the server says that the prompt does not fit."""
    if isinstance(error, BrokenStream):
        return False
    if error.code in _CONTEXT_CODES or error.type in _CONTEXT_CODES or _status(error) == 413:
        return True
    said = _TOO_LONG.search(error.message)
    return said is not None and (_status(error) in (400, 422) or (_status(error) == 500 and bool(said["context"])))


def is_retryable(error: Failure) -> bool:
    """Return True if the same request may succeed later."""
    if isinstance(error, OtherApi):
        return False
    if isinstance(error, _RETRYABLE):
        return not (isinstance(error, openai.APIError) and NOT_RETRYABLE & {error.code, error.type})
    status = _status(error)  # 408, or an error inside a stream, with or without a number
    return status is None or status in (408, 409, 429) or status >= 500


def is_rate_limited(error: Failure) -> bool:
    """Return True if the server limits our rate, so that every thread should wait."""
    return _status(error) == 429


def retry_after(error: Failure) -> float | None:
    """Return the seconds that the server asks to wait, from a number or a date; None if it does not say."""
    if not isinstance(error, openai.APIStatusError):
        return None
    header = error.response.headers.get("retry-after", "")
    try:
        seconds = float(header)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(header).timestamp() - time.time()
        except ValueError:
            return None
    return min(seconds, MAX_WAIT) if seconds > 0 else None


def max_requests(error: Failure, retries: int) -> tuple[str, int]:
    """Return the kind of a failure, and the number of failures of that kind after which no request is made.

    A busy server gets more requests. A server that sent nothing for ``Timeouts.idle`` seconds is asked only once more.
    """
    if is_rate_limited(error):
        return "busy", 1 + BUSY_FACTOR * retries
    return ("silent", 1 + min(retries, 1)) if _is_silence(error) else ("failed", 1 + retries)


def final_error(error: Failure, title: str, requests: int, key: str) -> ModelError:
    """Return the error to raise for the last failure; ``title`` names the model and its server."""
    failure = describe(error, key).rstrip(".")
    if is_too_long(error):
        return ContextExceeded(
            f"{title} says that the prompt is longer than it accepts: {failure}. "
            "Give the model's true context length with --sampling context=N (it counts prompt and reply), or start the "
            "server with a longer one"
        )
    if is_retryable(error):
        times = "one request" if requests == 1 else f"{requests} requests"
        symptom, advice = _symptom_and_advice(error)
        return ModelUnavailable(f"{title} {symptom} after {times}: {failure}. {advice}")
    if isinstance(error, OtherApi):
        return ModelRefused(
            f"{title} does not speak OpenAI's API: {failure}. "
            "What to do: check OPENAI_BASE_URL, which usually ends in /v1"
        )
    advice = _ADVICE.get(_status(error) or 0, "change what is asked with --sampling NAME=VALUE, such as max_tokens=N")
    return ModelRefused(f"{title} refuses the request: {failure}. What to do: {advice}")


def _symptom_and_advice(error: Failure) -> tuple[str, str]:
    """Describe a failure that may pass before the run is resumed, and say what to do about it."""
    if is_rate_limited(error):
        return "still limits the rate of requests", "Ask for less at once (a smaller --jobs), or wait"
    if _is_silence(error):
        advice = "Check that the server is not stuck, or wait longer (--timeout idle=SECONDS)"
        return "sent nothing for too long", advice
    if _is_unreachable(error):
        return "cannot be reached", "Check that the server runs and that OPENAI_BASE_URL names its host and port"
    symptom = "failed" if isinstance(error, openai.APIStatusError) else "gave no whole reply"
    return symptom, "Look at the server's log"


def _is_unreachable(error: Failure) -> bool:
    """Return True if no connection was made."""
    return isinstance(error, openai.APIConnectionError) and "Connect" in type(error.__cause__).__name__


def _is_silence(error: Failure) -> bool:
    """Return True if the server took the request and then sent nothing for ``Timeouts.idle`` seconds."""
    return isinstance(error, openai.APITimeoutError) and not _is_unreachable(error)


def describe(error: Failure, key: str) -> str:
    """Return the failure in one line, without the key, which some servers quote."""
    text = str(error)
    if isinstance(error, openai.APIConnectionError) and error.__cause__ is not None:
        text = f"{text.rstrip('.')} ({type(error.__cause__).__name__}: {error.__cause__})"
    elif isinstance(error, openai.APIStatusError) and text == f"Error code: {error.status_code}" and error.body:
        text = f"{text} - {error.body}"  # not in OpenAI's form
    text = " ".join(_without_key(text, key).split())
    return text if len(text) <= MAX_QUOTE else f"{text[:MAX_QUOTE]} ..."


def _without_key(text: str, key: str) -> str:
    """Return the text without the key. A short placeholder, used where no key is needed, stays."""
    return text.replace(key, "[key]") if len(key) >= MIN_KEY_LENGTH else text


def _status(error: Failure) -> int | None:
    """Return the HTTP status, or the status that an error inside a stream gives as its code."""
    if isinstance(error, openai.APIStatusError):
        return error.status_code
    code = getattr(error, "code", None) or ""
    return int(code) if re.fullmatch(r"[1-5]\d\d", code) else None


EVENTS = "text/event-stream"
"""Content type of a streamed reply."""
_FINISHES: dict[str, Finish] = {"length": "length", "model_length": "length", "content_filter": "refused"}
_FAILURES = frozenset({"error", "abort", "insufficient_system_resource"})
"""Reasons of a reply that the server could not finish."""


class ReplyListener:
    """Passes several streams of the same reply to ``on_text`` as one text.

    After a broken stream, the next stream continues it if it begins with the same text. Otherwise ``on_text`` gets
    nothing more, and only the final text counts.
    """

    def __init__(self, on_text: OnText | None) -> None:
        self._on_text, self._passed = on_text, ""

    def pass_on(self, text: str) -> bool:
        """Pass on the new part of the current stream's text so far. Return False if no more is wanted."""
        if self._on_text is None or len(text) <= len(self._passed) or not text.startswith(self._passed):
            return True
        piece, self._passed = text[len(self._passed) :], text
        return self._on_text(piece)


@dataclass
class ReplyParts:
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
        """The reason why the reply ended. An empty reply is a refusal."""
        if self.cut:
            return "cut"
        if self.refusal or not (self.text or self.reason == "length"):
            return "refused"
        return _FINISHES.get(self.reason or "", "stop")


def read_stream(chunks: Iterable[Mapping[str, Any]], listener: ReplyListener) -> ReplyParts:
    """Read the chunks of a reply, until the listener wants no more. Raises BrokenStream and openai.APIError."""
    received = ReplyParts()
    try:
        for chunk in chunks:
            _add_chunk(received, chunk)
            if not listener.pass_on(received.text):
                received.cut = True
                return _join_surrogates(received)
    except (openai.APIError, BrokenStream):
        if received.reason is None:
            raise  # otherwise the text is complete, and only the token count is lost
    if received.reason is None:
        raise BrokenStream("the reply's stream ended without a finish_reason")
    if received.reason in _FAILURES:
        raise BrokenStream(f"the server ended the reply with the finish_reason {received.reason!r}")
    return _join_surrogates(received)


def chunk_of(response: Any) -> Mapping[str, Any]:
    """Return a reply that came in one piece as a chunk of a stream. Raises BrokenStream and openai.APIError."""
    try:
        whole = _mapping(response.json())
    except ValueError as error:
        raise BrokenStream(f"the server's answer is not JSON: {error}") from error
    if failure := whole.get("error"):
        raise openai.APIError(str(_mapping(failure).get("message") or failure), response.request, body=failure)
    if "choices" not in whole:
        raise OtherApi("it answers with JSON that is not a chat completion")
    choices = whole["choices"]
    first = _mapping(choices[0]) if isinstance(choices, list) and choices else {}
    if not isinstance(first.get("message"), Mapping):
        raise BrokenStream("the server answered with something other than a chat completion")
    reason = first.get("finish_reason") or "stop"  # some servers name none for a whole reply
    return {**whole, "choices": [{"delta": first["message"], "finish_reason": reason}]}


class EventStream(openai.Stream[object]):
    """A stream that notes whether it came to its end mark."""

    ended = False

    def _iter_events(self) -> Iterator[Any]:
        for event in super()._iter_events():
            self.ended |= event.data.startswith("[DONE]")
            yield event


def chunks_of(stream: EventStream) -> Iterator[Mapping[str, Any]]:
    """Yield the JSON objects of a stream, then close it. Raises BrokenStream, OtherApi, openai.APIError."""
    response = stream.response
    kind = response.headers.get("content-type", "").partition(";")[0]
    empty = True
    with stream:
        try:
            if kind == "application/json" and not _read_whole(response).content.lstrip().startswith(b"data:"):
                yield chunk_of(response)  # from a server that does not stream
                return
            for chunk in stream:
                if not isinstance(chunk, Mapping):
                    raise BrokenStream(f"the reply's stream holds a piece that is not an object: {chunk!r}")
                empty = False
                yield chunk
        except ValueError as error:
            raise BrokenStream(f"the reply's stream holds a piece that is not JSON: {error}") from error
    if empty and kind != EVENTS:
        raise OtherApi(f"it answers with {kind or 'no content type'}, where a stream of {EVENTS} was asked for")
    if stream.ended and not empty:
        yield {"choices": [{"finish_reason": "length"}]}  # without a reason, the reply may have been cut off


def _read_whole(response: Any) -> Any:
    """Receive the rest of a response, and return it. Raises BrokenStream."""
    try:
        response.read()
    except Exception as error:  # any of the HTTP library's
        raise BrokenStream(f"the reply broke off: {type(error).__name__}: {error}") from error
    return response


def _add_chunk(received: ReplyParts, chunk: Mapping[str, Any]) -> None:
    """Add one chunk. Servers omit different parts of it. Of several choices, only the first counts."""
    received.model = _text(chunk.get("model")) or received.model
    received.usage = _usage(_mapping(chunk.get("usage"))) or received.usage
    choices = chunk.get("choices")
    for choice in map(_mapping, choices if isinstance(choices, list) else ()):
        if choice.get("index"):
            continue
        delta = _mapping(choice.get("delta"))
        received.text += _text(delta.get("content"))
        received.refusal += _text(delta.get("refusal"))
        received.reasoning += _reasoning(delta)
        reason = _text(choice.get("finish_reason"))
        received.reason = received.reason or (reason if reason != "null" else "") or None


def _mapping(value: object) -> Mapping[str, Any]:
    """Return the value if it is an object of JSON, else an empty one."""
    return value if isinstance(value, Mapping) else {}


def _text(content: object, kind: str = "text") -> str:
    """Return a text, or the joined parts of that kind in a list."""
    if isinstance(content, list):
        return "".join(_text(_mapping(part).get(kind)) for part in content)
    return content if isinstance(content, str) else ""


def _reasoning(message: Mapping[str, Any]) -> str:
    """Return the model's reasoning. Servers use one of two names for it, or make it a part of the content."""
    reasoning = _text(message.get("reasoning_content")) or _text(message.get("reasoning"))
    content = message.get("content")
    return reasoning or (_text(content, "thinking") if isinstance(content, list) else "")


def _usage(counted: Mapping[str, Any]) -> Usage | None:
    """Return the tokens that the server counted; None if it does not count both prompt and reply."""
    prompt, completion = counted.get("prompt_tokens"), counted.get("completion_tokens")
    cached = _mapping(counted.get("prompt_tokens_details")).get("cached_tokens")
    if not _is_count(prompt) or not _is_count(completion) or not prompt:
        return None
    return Usage(prompt=prompt, completion=completion, cached=min(cached, prompt) if _is_count(cached) else 0)


def _is_count(number: object) -> TypeGuard[int]:
    return isinstance(number, int) and number >= 0


def _join_surrogates(received: ReplyParts) -> ReplyParts:
    """Join surrogate pairs that were split between two pieces, replace lone surrogates, and return the reply."""
    for name in ("text", "refusal", "reasoning"):
        joined = getattr(received, name).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        setattr(received, name, joined)
    return received
