"""A model behind any server that speaks OpenAI's chat completions."""

import logging
import os
import random
import re
import threading
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
    Failure,
    Hearing,
    Received,
    chunks_of,
    final,
    most_requests,
    rate_limited,
    read_stream,
    read_whole,
    retry_after,
    said,
    too_long,
    worth_asking_again,
)
from planbook.planner.models.tokens import estimated_usage
from planbook.planner.models.types import Message, OnText, Reply, Sampling
from planbook.planner.models.waiting import (
    QUIET,
    USUAL_TIMEOUTS,
    Gate,
    Stopped,
    Timeouts,
    from_thread,
    never_stopped,
    pause,
)

LOG = logging.getLogger(__name__)
DEFAULT_URL = "https://api.openai.com/v1"
NO_REQUESTS = "PLANBOOK_NO_REQUESTS"
"""Set to 1, this environment variable forbids every server but those on this machine."""
LONGEST_BACK_OFF = 60.0
_JITTER = random.Random()  # of its own: the global one may be seeded for a run


class OpenAIModel:
    """A model behind chat completions; replies are streamed.

    Retries are made only here (the SDK's are off), because the SDK's wait cannot be interrupted, is not shared between
    threads, and does not cover a broken stream. The class of a failure decides whether it is retried; waits double from
    ``backoff`` seconds, unless the server says how long. A parameter that the server refuses by name is renamed or
    dropped from then on; ``replaced`` lists these.
    """

    def __init__(
        self,
        name: str,
        *,
        base_url: str | None = None,
        api_key: str | None = None,
        timeouts: Timeouts = USUAL_TIMEOUTS,
        retries: int = 6,
        backoff: float = 1.0,
        extra_body: Mapping[str, object] | None = None,
        stopped: Stopped = never_stopped,
    ) -> None:
        """Read OPENAI_BASE_URL and OPENAI_API_KEY where they are not given.

        Raises ModelRefused where no request can be made with them.
        """
        self.name, self._model = f"openai:{name}", name
        url = base_url or os.environ.get("OPENAI_BASE_URL") or DEFAULT_URL
        self._key = _key(api_key, url)
        self._who = f"{self.name} at {_checked(url)}"
        self._retries, self._backoff, self._stopped = retries, backoff, stopped
        self._timeouts = timeouts
        self._extra_body = dict(extra_body or {})
        self._parameters, self._gate = Parameters(), Gate(stopped)
        self._client = openai.OpenAI(
            api_key=self._key,
            base_url=url,
            max_retries=0,
            timeout=openai.Timeout(timeouts.idle, connect=timeouts.connect),
            http_client=openai.DefaultHttpxClient(trust_env=not _is_local(url)),  # no proxy to this machine
        )

    @property
    def replaced(self) -> dict[str, str | None]:
        """The parameters that the server refused, and what is sent instead of each (None: nothing)."""
        return self._parameters.replaced

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        """Return the reply.

        Raises ModelRefused, ContextExceeded, ModelUnavailable, and EpisodeStopped while waiting.
        """
        start, hearing, failed = time.monotonic(), Hearing(on_text), Counter[str]()
        while True:
            try:
                self._gate.wait()
                received = self._ask(messages, sampling, hearing)
            except (openai.APIError, BrokenStream) as error:
                kind, most = most_requests(error, self._retries)
                failed[kind] += 1
                if failed[kind] >= most or too_long(error) or not worth_asking_again(error):
                    raise final(error, self._who, failed.total(), self._key) from None  # its cause may quote the key
                self._wait(error, failed[kind], most)
            else:
                return self._reply(received, messages, time.monotonic() - start)

    def _wait(self, error: Failure, requests: int, most: int) -> None:
        """Tell the user, and wait before a retry. If the server limits our rate, all threads wait."""
        asked = retry_after(error)
        back_off = min(self._backoff * 2.0 ** (requests - 1), LONGEST_BACK_OFF) * _JITTER.uniform(0.75, 1.25)
        seconds = back_off if asked is None else asked
        LOG.warning(
            "%s: %s; trying again in %.1f s (try %d of %d)",
            self._who,
            said(error, self._key),
            seconds,
            requests + 1,
            most,
        )
        if rate_limited(error) or asked is not None:
            self._gate.close_for(seconds)
        else:
            pause(seconds, self._stopped)

    def _tell_quiet(self) -> None:
        LOG.info(
            "%s has sent nothing for %.0f s; it is given %.0f s in all (--timeout idle=SECONDS)",
            self._who,
            QUIET,
            self._timeouts.idle,
        )

    def _ask(self, messages: Sequence[Message], sampling: Sampling, hearing: Hearing) -> Received:
        """Return one reply, asking once more for each parameter that the server does not know."""
        while True:
            sent = self._parameters.of(sampling)
            try:
                return self._draw(messages, sent, hearing)
            except (openai.BadRequestError, openai.UnprocessableEntityError) as error:
                if too_long(error) or not self._parameters.learn(error, sent):
                    raise

    def _draw(self, messages: Sequence[Message], sent: dict[str, Any], hearing: Hearing) -> Received:
        told = [{"role": message.role, "content": _sendable(message.content)} for message in messages]
        body = {"model": self._model, "messages": told, **sent}
        if not sent.get("stream"):
            with closing(from_thread(lambda: [self._whole(body)], self._stopped, self._tell_quiet)) as answers:
                return read_whole(next(answers), hearing)
        stream = {**body, **self._extra_body}
        with closing(from_thread(lambda: self._stream(stream), self._stopped, self._tell_quiet)) as chunks:
            return read_stream(chunks, hearing)

    def _whole(self, body: dict[str, Any]) -> object:
        create: Any = self._client.chat.completions.create
        try:
            return create(**body, extra_body=self._extra_body or None)
        except ValueError as error:
            raise BrokenStream(f"the server's answer is not JSON: {error}") from error

    def _stream(self, body: dict[str, Any]) -> Iterator[Mapping[str, Any]]:
        """Yield the pieces of a reply as plain JSON, since the SDK's objects take half a millisecond each to make."""
        return chunks_of(
            self._client.post(
                "/chat/completions", cast_to=object, body=body, stream=True, stream_cls=openai.Stream[object]
            )
        )

    def _reply(self, received: Received, messages: Sequence[Message], seconds: float) -> Reply:
        """Return the reply. If the server's name for its model is a path, only the file name is kept."""
        text = received.text or received.refusal
        served = received.model or self._model
        return Reply(
            text=text,
            finish=received.finish,
            usage=received.usage or estimated_usage(messages, text),
            model=PurePath(served).name if served.startswith("/") else served,
            seconds=seconds,
            reasoning=received.reasoning,
        )


def _key(given: str | None, url: str) -> str:
    """Return the key; local servers mostly accept any. Raises ModelRefused."""
    key = (given or os.environ.get("OPENAI_API_KEY") or "").strip()
    if not key and url == DEFAULT_URL:
        raise ModelRefused(
            "no key for OpenAI's server: set OPENAI_API_KEY, or OPENAI_BASE_URL to another server that speaks its API"
        )
    if not (key.isascii() and key.isprintable()):
        raise ModelRefused("OPENAI_API_KEY holds characters that no key has: copy it again")
    return key or "none"


def _checked(url: str) -> str:
    """Return a base URL for messages, without a password. Raises ModelRefused if it is invalid or forbidden."""
    try:
        parts = urlsplit(url)
        place = (parts.hostname or "") + (f":{parts.port}" if parts.port else "")
    except ValueError as error:
        raise ModelRefused(f"the base URL of the model's server cannot be read: {error}") from error
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ModelRefused(f"{url!r} is not the base URL of a server: give one such as http://localhost:8080/v1")
    if os.environ.get(NO_REQUESTS) == "1" and not _is_local(url):
        raise ModelRefused(f"{NO_REQUESTS}=1 forbids requests to {place}: only servers on this machine are allowed")
    return f"{parts.scheme}://{place}{parts.path}"


def _is_local(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _sendable(text: str) -> str:
    """Return text that can be sent, without half surrogates."""
    return text.encode("utf-8", "replace").decode()


INSTEAD: Mapping[str, str | None] = {
    "max_tokens": "max_completion_tokens",
    "temperature": None,
    "stop": None,
    "seed": None,
    "stream_options": None,
    "stream": None,
}
"""What to send instead of a refused parameter; None sends nothing. Looked up in this order."""
_NEEDS: Mapping[str, str] = {"stream_options": "stream"}
_NAMED = (
    r"""["'`]{name}["'`]""",
    r"\b(parameters?|arguments?|fields?|keys?|inputs?)\b( supplied| given)?[\s:]+{name}\b",
    r"\b(unsupported|unrecognized|unknown|unexpected)\b[\s:]+{name}\b",
    r"\b{name}\b( parameter| argument| field)?( is| are)? (un|not |no longer )",
)
"""Patterns by which a message names a parameter. A bare word does not count: "stop" and "seed" are ordinary words."""


class Parameters:
    """The parameters that one server accepts. Each refusal is learned once, for all threads."""

    def __init__(self) -> None:
        self._replaced: dict[str, str | None] = {}
        self._lock = threading.Lock()

    @property
    def replaced(self) -> dict[str, str | None]:
        """The parameters refused so far, and what is sent instead of each."""
        with self._lock:
            return dict(self._replaced)

    def of(self, sampling: Sampling) -> dict[str, Any]:
        """Return the parameters to send for a sampling."""
        wanted = {
            "max_tokens": sampling.max_tokens,
            "temperature": sampling.temperature,
            "stop": list(sampling.stop) or None,
            "seed": None if sampling.seed is None else sampling.seed + sampling.sample,
            "stream_options": {"include_usage": True},
            "stream": True,
        }
        replaced = self.replaced
        names = {
            name: replaced.get(name, name) for name in wanted if replaced.get(_NEEDS.get(name, ""), "") is not None
        }
        return {sent: wanted[name] for name, sent in names.items() if sent is not None and wanted[name] is not None}

    def learn(self, error: openai.APIStatusError, sent: Mapping[str, Any]) -> bool:
        """Stop sending a parameter that the error names. Return False if it names none that can be dropped."""
        name = next((name for name in INSTEAD if name in sent and _names(error, name)), None)
        if name is None:
            return False
        with self._lock:
            self._replaced[name] = INSTEAD[name]
        return True


def _names(error: openai.APIStatusError, parameter: str) -> bool:
    if error.param is not None:
        return error.param == parameter
    said = f"{error.message} {error.body}"
    return any(re.search(named.format(name=parameter), said, re.IGNORECASE) for named in _NAMED)
