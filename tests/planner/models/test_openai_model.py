"""Requests to a real HTTP server on this machine: parameters, refusals, waiting, keys and addresses."""

import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from planbook.planner import Sampling, Usage
from planbook.planner.errors import ContextExceeded, EpisodeStopped, ModelRefused, ModelUnavailable
from planbook.planner.models.openai_api import OpenAIModel
from planbook.planner.models.types import estimated_usage
from planbook.planner.models.waiting import MAX_TIMEOUT, Timeouts
from tests.openai_server import CutStream, DelayedAnswer, Refusal, Server, serving
from tests.piece_listener import PieceListener
from tests.planner.models.local_server import ASK, KEY, TEXT, model


def test_a_request_has_the_sampling_of_the_method(server: Server) -> None:
    sampling = Sampling(temperature=0.5, max_tokens=77, seed=3, sample=2, stop=("END",))
    reply = model(server, extra_body={"cache_prompt": False}).complete(ASK, sampling)
    assert server.requests == [
        {
            "model": "some-model",
            "messages": [message.model_dump() for message in ASK],
            "max_tokens": 77,
            "temperature": 0.5,
            "seed": 5,
            "stop": ["END"],
            "stream": True,
            "stream_options": {"include_usage": True},
            "cache_prompt": False,
        }
    ]
    assert server.keys == [KEY]
    assert (reply.text, reply.finish, reply.model, reply.replayed) == (TEXT, "stop", "served-1", False)
    assert reply.usage == Usage(prompt=5, completion=4)
    assert 0 < reply.seconds < 10


def test_a_parameter_that_is_none_is_not_sent(server: Server) -> None:
    model(server).complete(ASK, Sampling(temperature=None, max_tokens=None, seed=None))
    assert set(server.requests[0]) == {"model", "messages", "stream", "stream_options"}


def test_refused_parameters_are_replaced_or_dropped_in_all_later_requests(
    server: Server, caplog: pytest.LogCaptureFixture
) -> None:
    server.refused_parameters = frozenset({"temperature", "seed", "stop", "max_tokens", "stream_options", "stream"})
    listener, asked, sampling = PieceListener(), model(server), Sampling(stop=("END",))
    reply = asked.complete(ASK, sampling, listener)
    assert (reply.text, listener.received, reply.usage) == (TEXT, [TEXT], Usage(prompt=5, completion=4))
    assert asked.complete(ASK, sampling).text == TEXT
    assert [len(request) - 2 for request in server.requests] == [6, 6, 5, 4, 2, 1, 1]
    assert set(server.requests[-1]) == {"model", "messages", "max_completion_tokens"}
    assert [record.getMessage().partition("not support ")[2].partition(":")[0] for record in caplog.records] == [
        "seed",
        "stop",
        "temperature",
    ]


@pytest.mark.parametrize("setting", [{"refused_parameters": frozenset({"stream_options"})}, {"counts": False}])
def test_missing_usage_is_estimated(setting: dict[str, Any]) -> None:
    with serving(lambda messages: TEXT, **setting) as server:
        assert model(server).complete(ASK, Sampling()).usage == estimated_usage(ASK, TEXT)


@pytest.mark.parametrize(
    "message",
    [
        "Unrecognized request argument supplied: seed",
        "`seed` is not supported",
        "seed is not supported by this engine",
        '[{"type": "extra_forbidden", "loc": ["body", "seed"]}]',
    ],
)
@pytest.mark.parametrize("status", [400, 422])
def test_a_parameter_is_found_in_the_messages_of_other_servers(server: Server, message: str, status: int) -> None:
    server.troubles += [Refusal(status, message)]
    assert model(server).complete(ASK, Sampling()).text == TEXT
    assert [set(request) - {"seed"} == set(request) for request in server.requests] == [False, True]


@pytest.mark.parametrize("param", ["", "None"])
def test_an_empty_name_of_a_parameter_is_ignored(server: Server, param: str) -> None:
    server.troubles += [Refusal(400, "Unsupported parameter: 'temperature'", param=param)]
    assert model(server).complete(ASK, Sampling()).text == TEXT
    assert "temperature" not in server.requests[-1]


@pytest.mark.parametrize(
    "troubles",
    [
        [Refusal(400, "please stop sending nonsense, or seed it elsewhere")],
        [Refusal(400, "nonsense", param=name) for name in ("max_tokens", "max_completion_tokens")],
        [Refusal(400, "nonsense: max_tokens is too large: 4000", code="invalid_value", param="max_tokens")],
        [Refusal(400, "nonsense: 'temperature' is above the maximum value. Expected <= 2", param="temperature")],
    ],
    ids=["no parameter", "both names", "a value too large", "a value out of range"],
)
def test_a_bad_request_for_another_reason_is_refused(server: Server, troubles: list[Refusal]) -> None:
    server.troubles += troubles
    with pytest.raises(ModelRefused, match=r"nonsense.*--sampling"):
        model(server).complete(ASK, Sampling(stop=("END",)))
    assert len(server.requests) == len(troubles)


@pytest.mark.parametrize("status", [408, 409, 429, 503])
def test_a_request_that_may_succeed_later_is_repeated(server: Server, status: int) -> None:
    server.troubles += [Refusal(status), Refusal(status)]
    assert model(server).complete(ASK, Sampling()).text == TEXT
    assert len(server.requests) == 3


def test_the_number_of_requests_is_limited(server: Server) -> None:
    server.troubles += [Refusal(503, f"overloaded, dear {KEY}")] * 9
    message = r"openai:some-model at http://127.*/v1 .*3 requests.*overloaded"
    with pytest.raises(ModelUnavailable, match=message) as error:
        model(server, retries=2).complete(ASK, Sampling())
    assert len(server.requests) == 3
    assert KEY not in str(error.value)
    assert error.value.__cause__ is None


def test_a_server_that_was_never_there_is_not_asked_again() -> None:
    with serving(lambda messages: TEXT) as server:
        there = model(server, retries=2)
        assert there.complete(ASK, Sampling()).text == TEXT
        never_asked = model(server, retries=2)
    with pytest.raises(ModelUnavailable, match=r"cannot be reached after one request.*OPENAI_BASE_URL"):
        never_asked.complete(ASK, Sampling())
    with pytest.raises(ModelUnavailable, match=r"cannot be reached after 3 requests"):
        there.complete(ASK, Sampling())


@pytest.mark.parametrize(
    ("trouble", "advice"),
    [
        (Refusal(401, f"Incorrect API key provided: {KEY}"), "OPENAI_API_KEY"),
        (Refusal(404, "no such model"), "model's name"),
        (Refusal(402), "credit"),
        (Refusal(429, code="insufficient_quota"), "quota"),
        (Refusal(429, body='{"error": {"message": "all used", "type": "insufficient_quota"}}'), "quota"),
        (Refusal(200, body='{"error": {"message": "Your card expired", "code": 402}}'), "Your card expired.*credit"),
        (Refusal(418, body="<html>teapot</html>"), "teapot"),
        (CutStream(after=1, last='{"error": {"message": "bad key", "code": 401}}'), "bad key"),
    ],
)
def test_a_lasting_refusal_has_advice_and_not_the_key(
    server: Server, trouble: Refusal | CutStream, advice: str
) -> None:
    server.troubles += [trouble]
    with pytest.raises(ModelRefused, match=advice) as error:
        model(server).complete(ASK, Sampling())
    assert len(server.requests) == 1
    assert "some-model" in str(error.value)
    assert KEY not in str(error.value)


@pytest.mark.parametrize(
    "trouble",
    [
        Refusal(400, "request (20005 tokens) exceeds the available context size (16384 tokens), try increasing it"),
        Refusal(400, "'max_tokens' is too large: 9000. This model's maximum context length is 8192 tokens"),
        Refusal(400, "prompt is too long: 210000 tokens > 200000 maximum"),
        Refusal(400, "no", code="context_length_exceeded"),
        Refusal(
            422, "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 4096. Given: 5000 `inputs`"
        ),
        Refusal(400, "Please reduce the length of the messages or completion."),
        Refusal(500, "the request exceeds the available context size. try increasing the context size"),
        Refusal(400, "too many tokens: total number of tokens in the prompt cannot exceed 4081 - received 5000"),
        Refusal(400, "Range of input length should be [1, 30720]"),
        Refusal(413, "Request Entity Too Large"),
    ],
)
def test_a_prompt_too_long_is_its_own_error(server: Server, trouble: Refusal) -> None:
    server.troubles += [trouble]
    with pytest.raises(ContextExceeded, match=r"longer than it accepts.*--sampling context=N"):
        model(server).complete(ASK, Sampling())
    assert len(server.requests) == 1


@pytest.mark.parametrize("after", ["-5", "nan", "soon", "Wed, 21 Oct 2015 07:28:00 GMT"])
def test_an_unusable_retry_after_header_becomes_the_usual_back_off(server: Server, after: str) -> None:
    server.troubles += [Refusal(429, headers={"Retry-After": after})]
    model(server, backoff=0.2).complete(ASK, Sampling())
    assert 0.14 < server.times[1] - server.times[0] < 5


@pytest.mark.parametrize("status", [429, 503])
def test_a_wait_that_is_too_long_ends_the_request_and_is_named(server: Server, status: int) -> None:
    server.troubles += [Refusal(status, "later", headers={"Retry-After": "100000"})]
    with pytest.raises(ModelUnavailable, match=r"asks for a wait of 100,000 s after one request: .*later.*Wait that l"):
        model(server).complete(ASK, Sampling())
    assert len(server.requests) == 1


def test_a_wait_can_be_interrupted(server: Server, caplog: pytest.LogCaptureFixture) -> None:
    server.troubles += [Refusal(429, headers={"Retry-After": "3000"})]
    with pytest.raises(EpisodeStopped):
        model(server, stopped=lambda: "trying again in 3000.0 s" in caplog.text).complete(ASK, Sampling())
    assert len(server.requests) == 1


def test_a_busy_server_makes_all_threads_wait(server: Server) -> None:
    server.troubles += [Refusal(429, headers={"Retry-After": "1"})]
    asked = model(server)
    threads = [threading.Thread(target=asked.complete, args=(ASK, Sampling(sample=n))) for n in (0, 1)]
    threads[0].start()
    while not server.requests:
        time.sleep(0.01)
    time.sleep(0.3)
    threads[1].start()
    for thread in threads:
        thread.join()
    assert len(server.times) == 3
    assert min(server.times[1:]) - server.times[0] > 0.9


@pytest.mark.parametrize("failures", [0, 2])
def test_a_silent_server_is_asked_once_more_after_the_timeout(server: Server, failures: int) -> None:
    server.troubles += [*[Refusal(503)] * failures, DelayedAnswer(30.0)]
    start = time.monotonic()
    assert model(server, timeouts=Timeouts(idle=0.3)).complete(ASK, Sampling()).text == TEXT
    assert time.monotonic() - start < 20
    assert len(server.requests) == 2 + failures


def test_the_longest_timeout_is_one_that_the_operating_system_accepts(server: Server) -> None:
    longest = Timeouts(connect=MAX_TIMEOUT, idle=MAX_TIMEOUT)
    assert model(server, timeouts=longest).complete(ASK, Sampling()).text == TEXT
    with pytest.raises(ValidationError, match="less than or equal to 1000000"):
        Timeouts(idle=float("inf"))


def test_a_wrong_path_is_refused_with_advice(server: Server) -> None:
    with pytest.raises(ModelRefused, match="usually in /v1"):
        model(server, base_url=server.url.removesuffix("/v1")).complete(ASK, Sampling())


def test_key_and_server_come_from_the_environment(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f" {server.url}")
    monkeypatch.setenv("OPENAI_API_KEY", " sk-from-there\n")
    assert OpenAIModel("some-model").complete(ASK, Sampling()).text == TEXT
    assert server.keys == ["sk-from-there"]


def test_a_local_server_needs_no_key_and_no_proxy(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    assert OpenAIModel("some-model", base_url=server.url).complete(ASK, Sampling()).text == TEXT


@pytest.mark.parametrize(
    ("key", "url", "message"),
    [
        (None, None, r"set OPENAI_API_KEY, or OPENAI_BASE_URL"),
        ("", None, r"set OPENAI_API_KEY, or OPENAI_BASE_URL"),
        (KEY, "ftp://somewhere", "base URL"),
        (KEY, "http://", "base URL"),
        (KEY, "http://h:port/v1", "base URL"),
        (KEY, "http://[::1/v1", "base URL"),
        ("sk-käse", "http://localhost/v1", "characters that do not occur in keys"),
    ],
)
def test_an_unusable_key_or_url_is_refused(
    monkeypatch: pytest.MonkeyPatch, key: str | None, url: str | None, message: str
) -> None:
    for name in ("OPENAI_API_KEY", "OPENAI_BASE_URL", "PLANBOOK_NO_REQUESTS"):
        monkeypatch.delenv(name, raising=False)
    if key is not None:
        monkeypatch.setenv("OPENAI_API_KEY", key)
    with pytest.raises(ModelRefused, match=message) as error:
        OpenAIModel("some-model", base_url=url)
    assert "sk-" not in str(error.value)


@pytest.mark.parametrize(
    ("name", "value"),
    [("ALL_PROXY", "socks5://h:1"), ("HTTP_PROXY", "foo://h:1"), ("SSL_CERT_FILE", "/nonexistent")],
)
def test_an_unusable_proxy_or_certificate_is_refused(monkeypatch: pytest.MonkeyPatch, name: str, value: str) -> None:
    monkeypatch.delenv("PLANBOOK_NO_REQUESTS", raising=False)
    monkeypatch.setenv(name, value)
    with pytest.raises(ModelRefused, match=name):
        OpenAIModel("some-model", base_url="http://example.org/v1", api_key=KEY)


def test_a_setting_forbids_requests_to_other_machines(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PLANBOOK_NO_REQUESTS", "1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    for url, host in (
        (None, "api.openai.com"),
        ("http://user:secret@10.0.0.1:8080/v1", "10.0.0.1:8080"),
        ("http://localhost.example.org/v1", "localhost.example.org"),
    ):
        with pytest.raises(ModelRefused, match=f"PLANBOOK_NO_REQUESTS=1 forbids requests to {host}:") as error:
            OpenAIModel("some-model", base_url=url)
        assert "secret" not in str(error.value)
    assert model(server).complete(ASK, Sampling()).text == TEXT
    assert OpenAIModel("some-model", base_url="http://[::1]:1/v1").name == "openai:some-model"


def test_the_models_are_imported_without_openai(tmp_path: Path) -> None:
    code = "import planbook.planner.models, sys; assert 'openai' not in sys.modules"
    environment = {"PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
