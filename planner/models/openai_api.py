"""Models behind servers that speak OpenAI's API for chat completions."""

import logging
import os
import random
import re
import time
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from ipaddress import ip_address
from pathlib import PurePath
from typing import Any
from urllib.parse import urlsplit

import openai

from planbook.planner.errors import ModelRefused
from planbook.planner.models.openai_replies import (
    BrokenStream,
    EventStream,
    Failure,
    ReplyListener,
    ReplyParts,
    describe,
    failure_kind_and_limit,
    final_error,
    is_rate_limited,
    is_retryable,
    is_too_long,
    read_chunks,
    read_stream,
    retry_after,
)
from planbook.planner.models.types import Message, OnText, Reply, Sampling, estimated_usage
from planbook.planner.models.waiting import (
    DEFAULT_TIMEOUTS,
    QUIET_SECONDS,
    Gate,
    IsStopped,
    Timeouts,
    never_stopped,
    pause,
    read_in_thread,
)

LOG = logging.getLogger(__name__)
DEFAULT_URL = "https://api.openai.com/v1"
NO_REQUESTS = "PLANBOOK_NO_REQUESTS"
"""An environment variable. If it is 1, requests are allowed only to servers on this machine."""
MAX_BACK_OFF = 60.0
"""Maximum number of seconds between two tries, unless the server names a time. Jitter may add up to a quarter."""
CONNECTION_VARIABLES = "ALL_PROXY, HTTP_PROXY, HTTPS_PROXY, SSL_CERT_FILE, SSL_CERT_DIR"
_JITTER = random.Random()  # not the global generator, which a run may seed


class OpenAIModel:
    """A model behind a server that speaks OpenAI's API. Replies are streamed.

    A failed request is retried if the failure may be temporary. The first wait takes about ``backoff`` seconds, and
    each later wait twice as long as the one before, unless the server names a time. If the server does not support a
    parameter, later requests use another parameter in its place or leave it out.

    The retries of OpenAI's SDK are switched off. Its waits cannot be interrupted, it does not make all threads wait
    when the server is busy, and it does not retry after a stream has broken off.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeouts: Timeouts = DEFAULT_TIMEOUTS,
        retries: int = 6,
        backoff: float = 1.0,
        extra_body: Mapping[str, object] | None = None,
        stopped: IsStopped = never_stopped,
    ) -> None:
        """``base_url`` and ``api_key`` default to the environment variables OPENAI_BASE_URL and OPENAI_API_KEY.

        Without OPENAI_BASE_URL, ``DEFAULT_URL`` is used. Raises ModelRefused if no request can be made with the URL,
        the key or the network settings.
        """
        self.name, self._model = f"openai:{name}", name
        url = (base_url or os.environ.get("OPENAI_BASE_URL") or DEFAULT_URL).strip()
        self._key = _checked_key(api_key, url)
        self._title = f"{self.name} at {_check_url(url)}"
        self._retries, self._backoff, self._stopped = retries, backoff, stopped
        self._timeouts = timeouts
        self._extra_body = dict(extra_body or {})
        self._parameters, self._gate = Parameters(), Gate(stopped)
        self._was_reachable = False
        """True once something has listened on the server's host and port. Until then, no failed request is retried."""
        self._client = openai.OpenAI(
            api_key=self._key,
            base_url=url,
            max_retries=0,
            timeout=openai.Timeout(timeouts.idle, connect=timeouts.connect),
            http_client=_http_client(url),
        )

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        """Return the reply of the model.

        Raises ModelRefused if the server refuses the request, ContextExceeded if the prompt is too long,
        ModelUnavailable if all tries fail, or EpisodeStopped if the run is stopped during the wait.
        """
        start, listener, failures = time.monotonic(), ReplyListener(on_text), Counter[str]()
        while True:
            try:
                self._gate.wait()
                parts = self._ask(messages, sampling, listener)
            except (openai.APIError, BrokenStream) as error:
                kind, limit = failure_kind_and_limit(error, self._retries)
                failures[kind] += 1
                self._was_reachable |= not _is_connection_refused(error)
                if failures[kind] >= limit or not self._was_reachable or is_too_long(error) or not is_retryable(error):
                    # the cause is left out, because it may quote the key
                    raise final_error(error, self._title, failures.total(), self._key) from None
                self._wait(error, failures[kind], limit)
            else:
                self._was_reachable = True
                return self._reply(parts, messages, time.monotonic() - start)

    def _wait(self, error: Failure, failures: int, limit: int) -> None:
        """Log the failure, and wait before the request is retried.

        If the server limits the rate of requests or asks for a wait, all threads that use this model wait.
        """
        requested = retry_after(error)
        back_off = min(self._backoff * 2.0 ** (failures - 1), MAX_BACK_OFF) * _JITTER.uniform(0.75, 1.25)
        seconds = back_off if requested is None else requested
        LOG.warning(
            "%s: %s; trying again in %.1f s (try %d of %d)",
            self._title,
            describe(error, self._key),
            seconds,
            failures + 1,
            limit,
        )
        if is_rate_limited(error) or requested is not None:
            self._gate.close_for(seconds)
        else:
            pause(seconds, self._stopped)

    def _log_silence(self) -> None:
        LOG.info(
            "%s has sent nothing for %.0f s; planbook waits at most %.0f s (--timeout idle=SECONDS)",
            self._title,
            QUIET_SECONDS,
            self._timeouts.idle,
        )

    def _ask(self, messages: Sequence[Message], sampling: Sampling, listener: ReplyListener) -> ReplyParts:
        """Return one reply. If the server refuses a parameter, ask again with its replacement or without it."""
        while True:
            parameters = self._parameters.for_sampling(sampling)
            try:
                return self._request(messages, sampling, parameters, listener)
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                refused = None if is_too_long(error) else self._parameters.replace_refused(error, parameters)
                if refused is None:
                    raise
                if REPLACEMENTS[refused] is None and refused in Sampling.model_fields:
                    LOG.warning("%s does not support %s: requests leave it out from now on", self._title, refused)

    def _request(
        self, messages: Sequence[Message], sampling: Sampling, parameters: dict[str, Any], listener: ReplyListener
    ) -> ReplyParts:
        sendable = [{"role": message.role, "content": _sendable(message.content)} for message in messages]
        body = {"model": self._model, "messages": sendable, **parameters, **self._extra_body}
        with closing(
            read_in_thread(lambda: self._chunks(body, sampling.context), self._stopped, self._log_silence)
        ) as chunks:
            return read_stream(chunks, listener)

    def _chunks(self, body: dict[str, Any], context: int) -> Iterator[Mapping[str, Any]]:
        """Yield the chunks of a reply as plain JSON. Creating the SDK's own objects takes half a millisecond each."""
        stream = self._client.post("/chat/completions", cast_to=object, body=body, stream=True, stream_cls=EventStream)
        return read_chunks(stream, context, stream_requested="stream" in body)

    def _reply(self, parts: ReplyParts, messages: Sequence[Message], seconds: float) -> Reply:
        """Return the reply. If the server's name for its model is a path, only its last part is used."""
        text = parts.text or parts.refusal
        model = parts.model or self._model
        return Reply(
            text=text,
            finish=parts.finish,
            usage=parts.usage or estimated_usage(messages, parts.reasoning + text),
            model=PurePath(model).name if model.startswith("/") else model,
            seconds=seconds,
            reasoning=parts.reasoning,
        )


def _checked_key(api_key: str | None, url: str) -> str:
    """Return the key, or a placeholder if there is no key and the server may not need one.

    Raises ModelRefused if the key for OpenAI's own server is missing, or has characters that no key has.
    """
    key = (api_key or os.environ.get("OPENAI_API_KEY") or "").strip()
    if not key and url == DEFAULT_URL:
        raise ModelRefused(
            "no key for OpenAI's server: set OPENAI_API_KEY, or OPENAI_BASE_URL to another server that speaks its API"
        )
    if not (key.isascii() and key.isprintable()):
        raise ModelRefused("OPENAI_API_KEY contains characters that do not occur in keys: copy it again")
    return key or "none"


def _http_client(url: str) -> Any:
    """Return the HTTP client. Raises ModelRefused if the variables for proxies or certificates are unusable."""
    try:
        return openai.DefaultHttpxClient(trust_env=not _is_local(url))  # a server on this machine needs no proxy
    except Exception as error:  # any error of the HTTP library
        problem = f"no connection can be made: {error}. What to do: check the variables {CONNECTION_VARIABLES}"
        raise ModelRefused(problem) from error


def _check_url(url: str) -> str:
    """Return a base URL without user and password, for messages.

    Raises ModelRefused if the URL is invalid, or if ``NO_REQUESTS`` forbids requests to it.
    """
    try:
        parts = urlsplit(url)
        host = (parts.hostname or "") + (f":{parts.port}" if parts.port else "")
    except ValueError as error:
        raise ModelRefused(f"the base URL of the model's server cannot be read: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ModelRefused(f"{url!r} is not the base URL of a server: give one such as http://localhost:8080/v1")
    if os.environ.get(NO_REQUESTS) == "1" and not _is_local(url):
        raise ModelRefused(f"{NO_REQUESTS}=1 forbids requests to {host}: only servers on this machine are allowed")
    return f"{parts.scheme}://{host}{parts.path}"


def _is_connection_refused(error: Failure) -> bool:
    """Return True if nothing listens on the server's host and port."""
    cause: BaseException | None = error
    while cause is not None and not isinstance(cause, ConnectionRefusedError):
        cause = cause.__cause__ or cause.__context__
    return cause is not None


def _is_local(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _sendable(text: str) -> str:
    """Return the text with a question mark in place of each lone surrogate, which cannot be encoded."""
    return text.encode("utf-8", "replace").decode()


REPLACEMENTS: Mapping[str, str | None] = {
    "max_tokens": "max_completion_tokens",
    "temperature": None,
    "stop": None,
    "seed": None,
    "stream_options": None,
    "stream": None,
}
"""Maps each parameter that a server may refuse to its replacement, or to None if the parameter is left out.

If the server's message names several of these parameters, the first in this order is replaced.
"""
_NAMED_PATTERNS = (
    r"""["'`]{name}["'`]""",
    r"\b(parameters?|arguments?|fields?|keys?|inputs?)\b( supplied| given)?[\s:]+{name}\b",
    r"\b(unsupported|unrecognized|unknown|unexpected)\b[\s:]+{name}\b",
    r"\b{name}\b( parameter| argument| field)?( is| are)? (un|not |no longer )",
)
"""Patterns that match messages about the parameter ``{name}``.

The name alone is not enough, because names such as "stop" and "seed" are also ordinary words.
"""

_OUT_OF_RANGE = re.compile(
    r"\b(above|below|exceeds?|maximum|minimum|at most|at least|too (large|small|high|low)|between|range|(less|greater)"
    r" than)\b|[<>]=",
    re.IGNORECASE,
)
"""Matches messages that refuse only the value of a parameter, not the parameter itself."""


class Parameters:
    """The parameters that a server accepts, learned from its refusals. All threads share this knowledge."""

    def __init__(self) -> None:
        self._replaced: dict[str, str | None] = {}

    def for_sampling(self, sampling: Sampling) -> dict[str, Any]:
        """Return the parameters of a request with this sampling."""
        values = {
            "max_tokens": sampling.max_tokens,
            "temperature": sampling.temperature,
            "stop": list(sampling.stop) or None,
            "seed": None if sampling.seed is None else sampling.seed + sampling.sample,
            "stream_options": {"include_usage": True},
            "stream": True,
        }
        replaced = dict(self._replaced)  # a copy, since another thread may change the dict at any time
        if "stream" in replaced:
            del values["stream_options"]  # servers refuse it without "stream"
        sent_names = {name: replaced.get(name, name) for name in values}
        return {sent: values[name] for name, sent in sent_names.items() if sent and values[name] is not None}

    def replace_refused(self, error: openai.APIStatusError, parameters: Mapping[str, Any]) -> str | None:
        """Stop sending the parameter that the server does not support, and return its name.

        Return None if the message does not say that a parameter is not supported.
        """
        name = next((name for name in REPLACEMENTS if name in parameters and _is_about(error, name)), None)
        if name is None or _OUT_OF_RANGE.search(error.message):
            return None
        self._replaced[name] = REPLACEMENTS[name]
        return name


def _is_about(error: openai.APIStatusError, parameter: str) -> bool:
    if error.param not in (None, "", "None"):
        return error.param == parameter
    text = f"{error.message} {error.body}"
    return any(re.search(pattern.format(name=parameter), text, re.IGNORECASE) for pattern in _NAMED_PATTERNS)
