"""Classifies failures of an OpenAI-compatible server: retry, prompt too long, or final."""

import re
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

import openai

from planbook.planner.errors import ContextExceeded, ModelRefused, ModelUnavailable

LONGEST_WAIT = 120.0
"""Maximum seconds that a server may ask us to wait."""
BUSY = 3
"""Factor for the number of retries if a server limits the rate of requests."""
SHORTEST_KEY = 8
LONGEST_SAID = 400
"""Maximum characters quoted from a server's message."""
NEVER_BY_ITSELF = frozenset({"insufficient_quota", "billing_hard_limit_reached"})
"""Codes of a 429 that no waiting resolves."""
_CONTEXT_CODES = frozenset({"context_length_exceeded", "exceed_context_size_error"})
_TOO_LONG = re.compile(
    r"context.{0,20}(length|size|window)|(prompt|input).{0,40}(too long|too large|exceeds)", re.IGNORECASE
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
_ASKED_AGAIN = (
    BrokenStream,
    openai.APIConnectionError,  # timeouts too
    openai.ConflictError,
    openai.RateLimitError,
    openai.InternalServerError,
)


def too_long(error: Failure) -> bool:
    """Return whether the server says that the prompt does not fit."""
    if isinstance(error, BrokenStream):
        return False
    if error.code in _CONTEXT_CODES or error.type in _CONTEXT_CODES or _status(error) == 413:
        return True
    return _status(error) == 400 and _TOO_LONG.search(error.message) is not None


def worth_asking_again(error: Failure) -> bool:
    """Return whether the same request may succeed later."""
    if isinstance(error, OtherApi):
        return False
    if isinstance(error, _ASKED_AGAIN):
        return not (isinstance(error, openai.APIError) and error.code in NEVER_BY_ITSELF)
    status = _status(error)  # 408, or an error told inside a stream, with or without a number
    return status is None or status in (408, 409, 429) or status >= 500


def rate_limited(error: Failure) -> bool:
    """Return whether the server limits our rate, so that every thread should wait."""
    return _status(error) == 429


def retry_after(error: Failure) -> float | None:
    """Return the seconds that the server asks to wait, from a number or a date; None if it does not say."""
    if not isinstance(error, openai.APIStatusError):
        return None
    asked = error.response.headers.get("retry-after", "")
    try:
        seconds = float(asked)
    except ValueError:
        try:
            seconds = parsedate_to_datetime(asked).timestamp() - time.time()
        except ValueError:
            return None
    return min(seconds, LONGEST_WAIT) if seconds > 0 else None


def most_requests(error: Failure, retries: int) -> tuple[str, int]:
    """Return the kind of a failure, and how many requests may end in one of that kind before it is final.

    A busy server is waited for longer. One that said nothing for the whole of ``idle`` is asked only once more.
    """
    if rate_limited(error):
        return "busy", 1 + BUSY * retries
    return ("silent", 1 + min(retries, 1)) if _is_silence(error) else ("failed", 1 + retries)


def final(error: Failure, who: str, requests: int, key: str) -> ContextExceeded | ModelRefused | ModelUnavailable:
    """Return the error to raise for the last failure; ``who`` names the model and its server."""
    told = said(error, key)
    if too_long(error):
        return ContextExceeded(
            f"{who} says that the prompt is longer than it takes: {told}. "
            "Give the model's true context length (it counts prompt and reply), or start the server with a longer one"
        )
    if worth_asking_again(error):
        times = "one request" if requests == 1 else f"{requests} requests"
        return ModelUnavailable(f"{who} {_what_failed(error)} after {times}: {told}. {_later(error)}")
    if isinstance(error, OtherApi):
        return ModelRefused(
            f"{who} does not speak OpenAI's API: {told}. What to do: check OPENAI_BASE_URL, which usually ends in /v1"
        )
    advice = _ADVICE.get(_status(error) or 0, "the request has to be changed: see the model's options")
    return ModelRefused(f"{who} refuses the request: {told}. What to do: {advice}")


def _what_failed(error: Failure) -> str:
    if rate_limited(error):
        return "still limits the rate of requests"
    if _is_silence(error):
        return "sent nothing for too long"
    if _is_unreachable(error):
        return "cannot be reached"
    return "failed" if isinstance(error, openai.APIStatusError) else "gave no whole reply"


def _later(error: Failure) -> str:
    """Return advice for a failure that may pass before the run is resumed."""
    if rate_limited(error):
        return "Ask for less at once (a smaller --jobs), or wait, then resume the run"
    if _is_silence(error):
        return "See that the server is not stuck, or wait longer (--timeout idle=SECONDS), then resume the run"
    if _is_unreachable(error):
        return "Check that the server runs and that OPENAI_BASE_URL names its host and port, then resume the run"
    return "Look at the server's log, then resume the run"


def _is_unreachable(error: Failure) -> bool:
    """Return whether no connection was made."""
    return isinstance(error, openai.APIConnectionError) and "Connect" in type(error.__cause__).__name__


def _is_silence(error: Failure) -> bool:
    """Return whether the server took the request and then sent nothing for ``Timeouts.idle`` seconds."""
    return isinstance(error, openai.APITimeoutError) and not _is_unreachable(error)


def said(error: Failure, key: str) -> str:
    """Return the failure in one line, without the key, which servers like to quote."""
    text = str(error)
    if isinstance(error, openai.APIConnectionError) and error.__cause__ is not None:
        text = f"{text.rstrip('.')} ({type(error.__cause__).__name__}: {error.__cause__})"
    elif isinstance(error, openai.APIStatusError) and text == f"Error code: {error.status_code}" and error.body:
        text = f"{text} - {error.body}"  # not in OpenAI's form
    text = " ".join(_without(text, key).split())
    return text if len(text) <= LONGEST_SAID else f"{text[:LONGEST_SAID]} ..."


def _without(text: str, key: str) -> str:
    """Return the text without the key; placeholders for no key stay."""
    return text.replace(key, "[key]") if len(key) >= SHORTEST_KEY else text


def _status(error: Failure) -> int | None:
    """Return the HTTP status, or the status that an error inside a stream gives as its code."""
    if isinstance(error, openai.APIStatusError):
        return error.status_code
    code = getattr(error, "code", None) or ""
    return int(code) if re.fullmatch(r"[1-5]\d\d", code) else None
