"""Chat completions against a real server on this machine."""

import json
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from email.utils import formatdate
from pathlib import Path
from typing import Any

import pytest

from planbook.planner import Message, Sampling, Usage
from planbook.planner.errors import ContextExceeded, EpisodeStopped, ModelRefused, ModelUnavailable
from planbook.planner.models.openai_api import OpenAIModel
from planbook.planner.models.tokens import estimated_usage
from planbook.planner.models.waiting import Timeouts
from tests.ear import Ear
from tests.openai_server import Break, Completion, Refusal, Server, Silence, serving

ASK = [Message(role="system", content="You are brief."), Message(role="user", content="Say hello, twice.")]
TEXT = "hello, and once more: hello"
KEY = "sk-secret-0123456789"


@pytest.fixture
def server() -> Iterator[Server]:
    with serving(lambda messages: TEXT) as server:
        yield server


def model(server: Server, **settings: Any) -> OpenAIModel:
    given: dict[str, Any] = {"base_url": server.url, "api_key": KEY, "backoff": 0.01}
    return OpenAIModel("some-model", **(given | settings))


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
    server.refuses = frozenset({"temperature", "seed", "stop", "max_tokens", "stream_options", "stream"})
    ear, asked, sampling = Ear(), model(server), Sampling(stop=("END",))
    reply = asked.complete(ASK, sampling, ear)
    assert (reply.text, ear.heard, reply.usage) == (TEXT, [TEXT], Usage(prompt=5, completion=4))
    assert asked.complete(ASK, sampling).text == TEXT
    assert [len(request) - 2 for request in server.requests] == [6, 6, 5, 4, 2, 1, 1]
    assert set(server.requests[-1]) == {"model", "messages", "max_completion_tokens"}
    assert [record.getMessage().partition("not support ")[2].partition(":")[0] for record in caplog.records] == [
        "seed",
        "stop",
        "temperature",
    ]


@pytest.mark.parametrize("setting", [{"refuses": frozenset({"stream_options"})}, {"counts": False}])
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
def test_an_empty_name_of_a_parameter_does_not_count(server: Server, param: str) -> None:
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
        (Break(after=1, last='{"error": {"message": "bad key", "code": 401}}'), "bad key"),
    ],
)
def test_a_lasting_refusal_has_advice_and_not_the_key(server: Server, trouble: Refusal | Break, advice: str) -> None:
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


def test_the_server_may_name_the_time_until_which_to_wait(server: Server) -> None:
    due = int(time.time()) + 2
    server.troubles += [Refusal(503, headers={"Retry-After": formatdate(due, usegmt=True)})]
    model(server).complete(ASK, Sampling())
    assert time.time() > due - 0.1


@pytest.mark.parametrize("after", ["-5", "nan", "soon", "Wed, 21 Oct 2015 07:28:00 GMT"])
def test_a_useless_wait_becomes_the_usual_back_off(server: Server, after: str) -> None:
    server.troubles += [Refusal(429, headers={"Retry-After": after})]
    model(server, backoff=0.2).complete(ASK, Sampling())
    assert 0.14 < server.times[1] - server.times[0] < 5


def test_a_wait_can_be_interrupted(server: Server) -> None:
    server.troubles += [Refusal(429, headers={"Retry-After": "100000"})]
    with pytest.raises(EpisodeStopped):
        model(server, stopped=lambda: bool(server.requests)).complete(ASK, Sampling())
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


@pytest.mark.parametrize(
    "trouble",
    [
        Break(after=0),
        Break(after=2),
        Break(after=2, clean=True),
        Break(after=1, last="{not json"),
        Break(after=1, last='{"error": {"message": "overloaded", "code": 503}}'),
    ],
)
def test_a_broken_stream_is_repeated_and_passed_on_once(server: Server, trouble: Break) -> None:
    server.troubles += [trouble]
    ear = Ear()
    reply = model(server).complete(ASK, Sampling(), ear)
    assert (reply.text, ear.text, reply.finish) == (TEXT, TEXT, "stop")
    assert len(server.requests) == 2


def test_a_repeated_stream_with_another_text_is_not_passed_on() -> None:
    texts = iter(["the first answer, cut off", "a second answer, whole"])
    ear = Ear()
    with serving(lambda messages: next(texts)) as server:
        server.troubles += [Break(after=1)]
        reply = model(server).complete(ASK, Sampling(), ear)
    assert (reply.text, ear.heard) == ("a second answer, whole", ["the firs"])


def test_a_stream_that_breaks_after_its_last_word_is_complete(server: Server) -> None:
    server.troubles += [Break(after=5)]
    assert model(server).complete(ASK, Sampling()).usage.estimated
    assert len(server.requests) == 1


def streamed(*chunks: object) -> Refusal:
    """Return a stream of these chunks."""
    body = "".join(f"data: {chunk if isinstance(chunk, str) else json.dumps(chunk)}\n\n" for chunk in chunks)
    return Refusal(200, body=body, headers={"Content-Type": "text/event-stream"})


def choice(content: object = None, reason: str | None = None, index: int = 0) -> dict[str, object]:
    return {"index": index, "delta": {"content": content}, "finish_reason": reason}


def chunk(*choices: object, **more: object) -> dict[str, object]:
    return {"model": "served-1", "choices": list(choices), **more}


STOP = chunk(choice(reason="stop"))


@pytest.mark.parametrize(
    "chunks",
    [
        [chunk(choice([{"type": "text", "text": TEXT[:5]}, {"type": "text", "text": TEXT[5:]}, None])), STOP],
        [chunk(choice([{"type": "thinking", "thinking": [{"text": "hm"}]}])), chunk(choice(TEXT)), STOP],
        [chunk(choice(TEXT)), chunk(None), STOP],
        [chunk(choice(TEXT), model=7), STOP],
        [chunk(choice(TEXT[:5]), choice("other", index=1)), chunk(choice("s", index=1)), chunk(choice(TEXT[5:])), STOP],
        [chunk(choice(TEXT)), chunk(choice(reason="stop"), usage=[1])],
        [chunk(choice(TEXT)), "[DONE]"],
        [chunk(choice(TEXT, reason="")), chunk(choice(reason="")), "[DONE]"],
    ],
    ids=["parts", "thinking", "no choice", "number", "two choices", "usage", "no reason", "empty reason"],
)
def test_a_stream_may_have_another_form(server: Server, chunks: list[object]) -> None:
    server.troubles += [streamed(*chunks)]
    reply = model(server).complete(ASK, Sampling())
    finish = "length" if chunks[-1] == "[DONE]" else "stop"  # without a reason, it may have been cut off
    assert (reply.text, reply.finish, len(server.requests)) == (TEXT, finish, 1)


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": "100", "completion_tokens": "10"},
        {"prompt_tokens": 100.5, "completion_tokens": 10.2},
        {"prompt_tokens": -100, "completion_tokens": -10},
        {"prompt_tokens": 100, "total_tokens": 500},
    ],
)
def test_a_count_that_is_unusable_is_estimated_with_the_reasoning(server: Server, usage: object) -> None:
    thought = {"index": 0, "delta": {"reasoning": "word " * 100}}
    server.troubles += [streamed(chunk(thought), chunk(choice(TEXT)), chunk(choice(reason="stop"), usage=usage))]
    reply = model(server).complete(ASK, Sampling())
    assert reply.usage == estimated_usage(ASK, "word " * 100 + TEXT)
    assert reply.usage.completion > 100


@pytest.mark.parametrize("reason", ["error", "insufficient_system_resource"])
def test_a_reply_that_the_server_could_not_finish_is_asked_for_again(server: Server, reason: str) -> None:
    server.troubles += [streamed(chunk(choice(TEXT[:5])), chunk(choice(reason=reason)), "[DONE]")]
    assert model(server).complete(ASK, Sampling()).text == TEXT
    assert len(server.requests) == 2


def test_a_server_may_answer_a_request_for_a_stream_in_one_piece(server: Server) -> None:
    message = {"role": "assistant", "content": [{"type": "text", "text": TEXT}]}
    body = {"choices": [{"index": 0, "message": message, "finish_reason": "length"}]}
    server.troubles += [Refusal(200, body=json.dumps(body))]
    reply = model(server).complete(ASK, Sampling())
    assert (reply.text, reply.finish, len(server.requests)) == (TEXT, "length", 1)


@pytest.mark.parametrize("body", ["{broken", '{"choices": []}', "<html>hello</html>"])
def test_an_invalid_whole_answer_is_repeated(server: Server, body: str) -> None:
    server.troubles += [Refusal(400, param="stream"), Refusal(200, body=body)]
    assert model(server).complete(ASK, Sampling()).text == TEXT
    assert len(server.requests) == 3


def test_a_whole_answer_needs_no_finish_reason(server: Server) -> None:
    body = {"id": "1", "object": "chat.completion", "created": 0, "model": "m"}
    choice = {"index": 0, "message": {"role": "assistant", "content": "Yes."}, "finish_reason": None}
    server.troubles += [Refusal(400, param="stream"), Refusal(200, body=json.dumps({**body, "choices": [choice]}))]
    reply = model(server).complete(ASK, Sampling())
    assert (reply.text, reply.finish) == ("Yes.", "stop")


def test_a_listener_may_stop_the_stream() -> None:
    ear = Ear(pieces=3)
    with serving(lambda messages: "word " * 400, pause=0.01) as server:
        reply = model(server).complete(ASK, Sampling(), ear)
    assert (reply.text, reply.finish) == ("word " * 4 + "word", "cut")
    assert reply.text == ear.text
    assert reply.usage == estimated_usage(ASK, reply.text)


def test_an_error_of_the_listener_is_raised(server: Server) -> None:
    def listen(piece: str) -> bool:
        raise ValueError("mine")

    with pytest.raises(ValueError, match="mine"):
        model(server).complete(ASK, Sampling(), listen)
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("completion", "finish", "text"),
    [
        (Completion("half an", finish="length"), "length", "half an"),
        (Completion("", finish="length"), "length", ""),
        (Completion("", finish="stop"), "refused", ""),
        (Completion("", refusal="I cannot."), "refused", "I cannot."),
        (Completion("some", finish="content_filter"), "refused", "some"),
        (Completion("called", finish="tool_calls"), "stop", "called"),
    ],
)
@pytest.mark.parametrize("refuses", [frozenset(), frozenset({"stream"})])
def test_a_reply_has_its_reason_to_end(completion: Completion, finish: str, text: str, refuses: frozenset[str]) -> None:
    with serving(lambda messages: completion, refuses=refuses) as server:
        reply = model(server).complete(ASK, Sampling())
    assert (reply.finish, reply.text) == (finish, text)


def test_a_reply_has_the_cached_tokens_and_the_file_name_of_the_model() -> None:
    with serving(lambda messages: Completion("yes", cached=4), model="/home/someone/models/small.gguf") as server:
        reply = model(server).complete(ASK, Sampling())
    assert (reply.usage, reply.model) == (Usage(prompt=5, completion=1, cached=4), "small.gguf")


def test_half_surrogates_are_replaced_or_joined() -> None:
    with serving(lambda messages: "1234567\U0001f642") as server:
        halves = "1234567\ud83d", "\ude42"
        server.answer = lambda messages: "".join(halves)
        reply = model(server).complete([Message(role="user", content="half \ud83d here")], Sampling())
        assert server.requests[0]["messages"][0]["content"] == "half ? here"
    assert reply.text == "1234567\U0001f642"


@pytest.mark.parametrize("failures", [0, 2])
def test_a_silent_server_is_asked_once_more_after_the_timeout(server: Server, failures: int) -> None:
    server.troubles += [*[Refusal(503)] * failures, Silence(3.0)]
    start = time.monotonic()
    assert model(server, timeouts=Timeouts(idle=0.3)).complete(ASK, Sampling()).text == TEXT
    assert time.monotonic() - start < 2.5
    assert len(server.requests) == 2 + failures


def test_a_missing_server_is_named() -> None:
    with serving(lambda messages: "") as gone:
        url = gone.url
    with pytest.raises(ModelUnavailable, match=r"127\.0\.0\.1.*Connect"):
        OpenAIModel("some-model", base_url=url, retries=1, backoff=0.01).complete(ASK, Sampling())


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
        ("sk-käse", "http://localhost/v1", "characters that no key has"),
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
    for url in (None, "https://api.openai.com/v1", "http://user:secret@10.0.0.1/v1", "http://localhost.example.org/v1"):
        with pytest.raises(ModelRefused, match="PLANBOOK_NO_REQUESTS=1 forbids") as error:
            OpenAIModel("some-model", base_url=url)
        assert "secret" not in str(error.value)
    assert model(server).complete(ASK, Sampling()).text == TEXT
    assert OpenAIModel("some-model", base_url="http://[::1]:1/v1").name == "openai:some-model"


def test_the_models_are_imported_without_openai(tmp_path: Path) -> None:
    code = "import planbook.planner.models, sys; assert 'openai' not in sys.modules"
    environment = {"PYTHONPATH": str(Path(__file__).parents[3])}
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
@pytest.mark.parametrize("refuses", [frozenset(), frozenset({"stream"})])
def test_the_reasoning_is_separate_from_the_reply(name: str, refuses: frozenset[str]) -> None:
    completion, ear = Completion("agent.open('box_1')", reasoning="First, box_2? No.", reasoning_field=name), Ear()
    with serving(lambda messages: completion, refuses=refuses) as server:
        reply = model(server).complete(ASK, Sampling(), ear)
    assert (reply.text, reply.reasoning) == (completion.text, completion.reasoning)
    assert ear.text == completion.text
