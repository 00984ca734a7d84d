"""Read the replies and the failures of a server that speaks OpenAI's API."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeGuard

import openai

from planbook.planner.errors import ContextExceeded, ModelError, ModelRefused, ModelUnavailable
from planbook.planner.models.types import Finish, OnText, Usage

MAX_WAIT = 3_600.0
"""The longest wait in seconds that a server may ask for. If it asks for more, the request fails."""
MAX_TOKEN_BYTES = 2_000
"""Maximum number of bytes of a reply per token of the context. A streamed token usually takes 200 to 500."""
BUSY_FACTOR = 3
"""Rate-limited requests get this many times the usual number of retries."""
MIN_KEY_LENGTH = 8
"""Shorter keys are placeholders for servers that need none. They are not hidden in messages."""
MAX_QUOTE = 400
"""Maximum number of characters quoted from a server's message."""
NOT_RETRYABLE = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
"""Error codes of responses with status 429 that do not mean a rate limit, so waiting does not help."""
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


class EndlessReply(BrokenStream):
    """A reply that is so much longer than the model's context that it may never end."""


class OtherApi(BrokenStream):
    """An answer that does not come from an OpenAI-compatible server, such as a web page."""


Failure = openai.APIError | BrokenStream


def is_too_long(error: Failure) -> bool:
    """Return True if the server says that the prompt is too long."""
    if isinstance(error, BrokenStream):
        return False
    if error.code in _CONTEXT_CODES or error.type in _CONTEXT_CODES or _status(error) == 413:
        return True
    match = _TOO_LONG.search(error.message)
    return match is not None and (_status(error) in (400, 422) or (_status(error) == 500 and bool(match["context"])))


def is_retryable(error: Failure) -> bool:
    """Return True if the same request may succeed later."""
    if isinstance(error, OtherApi) or (isinstance(error, openai.APIError) and NOT_RETRYABLE & {error.code, error.type}):
        return False
    status = _status(error)  # None for a broken connection and for an error inside a stream
    return status is None or status in (408, 409, 429) or status >= 500


def is_rate_limited(error: Failure) -> bool:
    """Return True if the server limits the rate of requests, so all threads should wait."""
    return _status(error) == 429


def retry_after(error: Failure) -> float | None:
    """Return the number of seconds that the server asks its clients to wait, or None if it names no number."""
    if not isinstance(error, openai.APIStatusError):
        return None
    try:
        seconds = float(error.response.headers.get("retry-after", ""))
    except ValueError:
        return None
    return seconds if seconds > 0 else None


def failure_kind_and_limit(error: Failure, retries: int) -> tuple[str, int]:
    """Return the kind of a failure, and the number of failures of this kind after which to give up.

    This number is higher if the server limits the rate of requests. A server that sent nothing for ``Timeouts.idle``
    seconds is asked only once more. A server that sends an endless reply, or asks for a longer wait than ``MAX_WAIT``,
    is not asked again.
    """
    if isinstance(error, EndlessReply) or _asks_for_long_wait(error):
        return "final", 1
    if is_rate_limited(error):
        return "busy", 1 + BUSY_FACTOR * retries
    return ("silent", 1 + min(retries, 1)) if _is_silence(error) else ("failed", 1 + retries)


def final_error(error: Failure, title: str, requests: int, key: str) -> ModelError:
    """Return the error to raise after the last failure. ``title`` names the model and its server."""
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
    advice = _ADVICE.get(_status(error) or 0, "change the request with --sampling NAME=VALUE, such as max_tokens=N")
    return ModelRefused(f"{title} refuses the request: {failure}. What to do: {advice}")


def _symptom_and_advice(error: Failure) -> tuple[str, str]:
    """Return a description of a temporary failure, and advice on what to do about it."""
    if _asks_for_long_wait(error):
        return f"asks for a wait of {retry_after(error):,.0f} s", "Wait that long"
    if isinstance(error, EndlessReply):
        return "does not end its reply", "Check that the server stops at max_tokens (--sampling max_tokens=N)"
    if is_rate_limited(error):
        return "still limits the rate of requests", "Ask for less at once (a smaller --jobs), or wait"
    if _is_silence(error):
        advice = "Check that the server is not stuck, or wait longer (--timeout idle=SECONDS)"
        return "sent nothing for too long", advice
    if _is_unreachable(error):
        return "cannot be reached", "Check that the server runs and that OPENAI_BASE_URL names its host and port"
    symptom = "failed" if isinstance(error, openai.APIStatusError) else "gave no complete reply"
    return symptom, "Look at the server's log"


def _asks_for_long_wait(error: Failure) -> bool:
    return (retry_after(error) or 0) > MAX_WAIT


def _is_unreachable(error: Failure) -> bool:
    """Return True if no connection was made."""
    return isinstance(error, openai.APIConnectionError) and "Connect" in type(error.__cause__).__name__


def _is_silence(error: Failure) -> bool:
    """Return True if the server accepted the request and then sent nothing for ``Timeouts.idle`` seconds."""
    return isinstance(error, openai.APITimeoutError) and not _is_unreachable(error)


def describe(error: Failure, key: str) -> str:
    """Return a description of a failure in one line. If it contains the API key, the key is hidden.

    A key shorter than ``MIN_KEY_LENGTH`` is a placeholder and need not be hidden.
    """
    text = str(error)
    if isinstance(error, openai.APIConnectionError) and error.__cause__ is not None:
        text = f"{text.rstrip('.')} ({type(error.__cause__).__name__}: {error.__cause__})"
    elif isinstance(error, openai.APIStatusError) and text == f"Error code: {error.status_code}" and error.body:
        text = f"{text} - {error.body}"  # the body is not in OpenAI's format
    if len(key) >= MIN_KEY_LENGTH:
        text = text.replace(key, "[key]")
    text = " ".join(text.split())
    return text if len(text) <= MAX_QUOTE else f"{text[:MAX_QUOTE]} ..."


def _status(error: Failure) -> int | None:
    """Return the HTTP status of a failure, or None if it has none. An error in a stream may hold it in ``code``."""
    if isinstance(error, openai.APIStatusError):
        return error.status_code
    code = getattr(error, "code", None) or ""
    return int(code) if re.fullmatch(r"[1-5]\d\d", code) else None


EVENTS = "text/event-stream"
"""The content type of a streamed reply."""
_FINISHES: dict[str, Finish] = {"length": "length", "model_length": "length", "content_filter": "refused"}
_FAILURE_REASONS = frozenset({"error", "abort", "insufficient_system_resource"})
"""Values of ``finish_reason`` that mean that the server could not finish the reply."""


class ReplyListener:
    """Passes a reply to ``on_text``, even if its stream breaks off and the reply has to be requested again.

    If the new stream begins with the text that was already passed on, ``on_text`` receives the text after that part.
    Otherwise it receives nothing more, and only the final reply counts.
    """

    def __init__(self, on_text: OnText | None) -> None:
        self._on_text, self._passed_text = on_text, ""

    def pass_on(self, text: str) -> bool:
        """Take the whole text of the stream so far, and pass on its new part. Return False to stop the reply."""
        if self._on_text is None or len(text) <= len(self._passed_text) or not text.startswith(self._passed_text):
            return True
        piece, self._passed_text = text[len(self._passed_text) :], text
        return self._on_text(piece)


@dataclass
class ReplyParts:
    """The parts of a reply that have been received.

    ``finish_reason`` is the server's reason why the reply ended, or None if it has not ended. ``cut`` is True if the
    listener stopped the reply.
    """

    text: str = ""
    refusal: str = ""
    reasoning: str = ""
    finish_reason: str | None = None
    usage: Usage | None = None
    model: str = ""
    cut: bool = False

    @property
    def finish(self) -> Finish:
        """The reason why the reply ended, in planbook's words. An empty reply is a refusal, unless it hit its limit."""
        if self.cut:
            return "cut"
        if self.refusal or not (self.text or self.finish_reason == "length"):
            return "refused"
        return _FINISHES.get(self.finish_reason or "", "stop")


def read_stream(chunks: Iterable[Mapping[str, Any]], listener: ReplyListener) -> ReplyParts:
    """Read the chunks of a reply to its end, or until the listener stops it.

    Raises BrokenStream if the stream breaks off, or openai.APIError if it contains an error.
    """
    parts = ReplyParts()
    try:
        for chunk in chunks:
            _add_chunk(parts, chunk)
            if not listener.pass_on(parts.text):
                parts.cut = True
                return _join_surrogates(parts)
    except (openai.APIError, BrokenStream):
        if parts.finish_reason is None:
            raise  # with a finish_reason, the text is complete, and only the token count is missing
    if parts.finish_reason is None:
        raise BrokenStream("the reply's stream ended without a finish_reason")
    if parts.finish_reason in _FAILURE_REASONS:
        raise BrokenStream(f"the server ended the reply with the finish_reason {parts.finish_reason!r}")
    return _join_surrogates(parts)


def whole_reply_chunk(response: Any) -> Mapping[str, Any]:
    """Return a reply that was not streamed, in the form of a chunk of a stream.

    Raises BrokenStream if the reply cannot be read, or openai.APIError if it contains an error.
    """
    try:
        completion = _mapping(response.json())
    except ValueError as error:
        raise BrokenStream(f"the server's answer is not JSON: {error}") from error
    if failure := completion.get("error"):
        raise openai.APIError(str(_mapping(failure).get("message") or failure), response.request, body=failure)
    if "choices" not in completion:
        raise OtherApi("it answers with JSON that is not a chat completion")
    choices = completion["choices"]
    first_choice = _mapping(choices[0]) if isinstance(choices, list) and choices else {}
    if not isinstance(first_choice.get("message"), Mapping):
        raise BrokenStream("the server answered with something other than a chat completion")
    reason = first_choice.get("finish_reason") or "stop"  # some servers give none for a reply that is not streamed
    return {**completion, "choices": [{"delta": first_choice["message"], "finish_reason": reason}]}


class EventStream(openai.Stream[object]):
    """A stream that remembers whether it has reached its end mark, ``[DONE]``."""

    has_ended = False

    def _iter_events(self) -> Iterator[Any]:
        for event in super()._iter_events():
            self.has_ended |= event.data.startswith("[DONE]")
            yield event


def read_chunks(stream: EventStream, context: int, *, stream_requested: bool) -> Iterator[Mapping[str, Any]]:
    """Yield the JSON objects of a stream, and then close it. ``stream_requested`` is True if the request asked for one.

    Raises BrokenStream if the stream cannot be read, EndlessReply if it is too long for a context of ``context``
    tokens, OtherApi if the server does not speak OpenAI's API, or openai.APIError for an error in the stream.
    """
    response: Any = stream.response
    response.iter_bytes = partial(_limited, response.iter_bytes, context)  # the SDK reads the body with this function
    kind = response.headers.get("content-type", "").partition(";")[0]
    is_empty = True
    with stream:
        try:
            may_be_whole = not stream_requested or kind == "application/json"
            if may_be_whole and not _read_whole(response).content.lstrip().startswith(b"data:"):
                yield whole_reply_chunk(response)  # the server does not stream
                return
            for chunk in stream:
                if not isinstance(chunk, Mapping):
                    raise BrokenStream(f"the reply's stream holds a piece that is not an object: {chunk!r}")
                is_empty = False
                yield chunk
        except ValueError as error:
            raise BrokenStream(f"the reply's stream holds a piece that is not JSON: {error}") from error
    if is_empty and kind != EVENTS:
        raise OtherApi(f"it answers with {kind or 'no content type'}, although a stream of {EVENTS} was requested")
    if stream.has_ended and not is_empty:
        yield {"choices": [{"finish_reason": "stop"}]}  # ignored if the server has already given a reason


def _limited(read: Callable[[], Iterator[bytes]], context: int) -> Iterator[bytes]:
    """Yield the pieces of a response.

    Raises EndlessReply if they have more than ``MAX_TOKEN_BYTES`` bytes for each of the ``context`` tokens.
    """
    byte_count = 0
    for piece in read():
        byte_count += len(piece)
        if byte_count > MAX_TOKEN_BYTES * context:
            raise EndlessReply(f"{byte_count:,} bytes for a context of {context:,} tokens")
        yield piece


def _read_whole(response: Any) -> Any:
    """Receive the rest of a response, and return the response. Raises BrokenStream if the connection breaks."""
    try:
        response.read()
    except EndlessReply:
        raise
    except Exception as error:  # any error of the HTTP library
        raise BrokenStream(f"the reply broke off: {type(error).__name__}: {error}") from error
    return response


def _add_chunk(parts: ReplyParts, chunk: Mapping[str, Any]) -> None:
    """Add one chunk to the reply. Any part of the chunk may be missing. Of several choices, the first is used."""
    parts.model = _text(chunk.get("model")) or parts.model
    parts.usage = _usage(_mapping(chunk.get("usage"))) or parts.usage
    choices = chunk.get("choices")
    for choice in map(_mapping, choices if isinstance(choices, list) else ()):
        if choice.get("index"):
            continue
        delta = _mapping(choice.get("delta"))
        parts.text += _text(delta.get("content"))
        parts.refusal += _text(delta.get("refusal"))
        parts.reasoning += _reasoning(delta)
        reason = _text(choice.get("finish_reason"))
        parts.finish_reason = parts.finish_reason or (reason if reason != "null" else "") or None


def _mapping(value: object) -> Mapping[str, Any]:
    """Return the value if it is a JSON object, otherwise an empty object."""
    return value if isinstance(value, Mapping) else {}


def _text(content: object, key: str = "text") -> str:
    """Return the content if it is a string. If it is a list, join the strings that its parts have under ``key``."""
    if isinstance(content, list):
        return "".join(_text(_mapping(part).get(key)) for part in content)
    return content if isinstance(content, str) else ""


def _reasoning(message: Mapping[str, Any]) -> str:
    """Return the model's reasoning. Some servers send it under one of two keys, others as a part of the content."""
    reasoning = _text(message.get("reasoning_content")) or _text(message.get("reasoning"))
    content = message.get("content")
    return reasoning or (_text(content, "thinking") if isinstance(content, list) else "")


def _usage(counts: Mapping[str, Any]) -> Usage | None:
    """Return the server's token counts, or None if the count for the prompt or the reply is missing."""
    prompt, completion = counts.get("prompt_tokens"), counts.get("completion_tokens")
    cached = _mapping(counts.get("prompt_tokens_details")).get("cached_tokens")
    if not _is_count(prompt) or not _is_count(completion) or not prompt:
        return None
    return Usage(prompt=prompt, completion=completion, cached=min(cached, prompt) if _is_count(cached) else 0)


def _is_count(number: object) -> TypeGuard[int]:
    return isinstance(number, int) and number >= 0


def _join_surrogates(parts: ReplyParts) -> ReplyParts:
    """Join surrogate pairs that were split between two chunks, replace lone surrogates, and return the reply."""
    for name in ("text", "refusal", "reasoning"):
        joined = getattr(parts, name).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
        setattr(parts, name, joined)
    return parts
