"""Replies of a real HTTP server on this machine: streams, whole answers, token counts, and finish reasons."""

import json
import time
from dataclasses import replace

import pytest

from planbook.planner import Message, Sampling, Usage
from planbook.planner.errors import ModelUnavailable
from planbook.planner.models.openai_replies import ReplyListener, read_stream
from planbook.planner.models.types import estimated_usage
from tests.openai_server import Completion, CutStream, Refusal, Server, serving
from tests.piece_listener import PieceListener
from tests.planner.models.local_server import ASK, TEXT, model


@pytest.mark.parametrize(
    "trouble",
    [
        CutStream(after=0),
        CutStream(after=2),
        CutStream(after=2, clean=True),
        CutStream(after=1, last="{not json"),
        CutStream(after=1, last='{"error": {"message": "overloaded", "code": 503}}'),
    ],
)
def test_a_broken_stream_is_repeated_and_passed_on_once(server: Server, trouble: CutStream) -> None:
    server.troubles += [trouble]
    listener = PieceListener()
    reply = model(server).complete(ASK, Sampling(), listener)
    assert (reply.text, listener.text, reply.finish) == (TEXT, TEXT, "stop")
    assert len(server.requests) == 2


def test_a_repeated_stream_with_another_text_is_not_passed_on() -> None:
    texts = iter(["the first answer, cut off", "a second answer, whole"])
    listener = PieceListener()
    with serving(lambda messages: next(texts)) as server:
        server.troubles += [CutStream(after=1)]
        reply = model(server).complete(ASK, Sampling(), listener)
    assert (reply.text, listener.received) == ("a second answer, whole", ["the firs"])


def test_a_stream_that_breaks_after_its_last_word_is_complete(server: Server) -> None:
    server.troubles += [CutStream(after=5)]
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
    assert (reply.text, reply.finish, len(server.requests)) == (TEXT, "stop", 1)


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


@pytest.mark.parametrize("kind", ["text/plain", ""])
def test_after_a_refusal_to_stream_no_finish_reason_and_no_content_type_is_needed(server: Server, kind: str) -> None:
    body = json.dumps({"choices": [{"index": 0, "message": {"role": "assistant", "content": TEXT}}]})
    server.troubles += [Refusal(400, param="stream"), Refusal(200, body=body, headers={"Content-Type": kind})]
    reply = model(server).complete(ASK, Sampling())
    assert (reply.text, reply.finish, len(server.requests)) == (TEXT, "stop", 2)


def test_a_stream_that_calls_itself_json_is_read(server: Server) -> None:
    server.troubles += [replace(streamed(chunk(choice(TEXT)), STOP), headers={})]
    assert model(server).complete(ASK, Sampling()).text == TEXT
    assert len(server.requests) == 1


@pytest.mark.parametrize(
    ("kind", "begin"), [("application/json", '{"choices": "'), ("text/event-stream", 'data: {"choices": "')]
)
def test_an_answer_without_end_is_given_up(server: Server, kind: str, begin: str) -> None:
    server.troubles += [Refusal(200, body=begin + "x" * 1_100_000, headers={"Content-Type": kind})]
    with pytest.raises(ModelUnavailable, match=r"does not end its reply after one request: 1,0\d\d,\d{3} bytes"):
        model(server).complete(ASK, Sampling(context=500))
    assert len(server.requests) == 1


def test_a_listener_may_stop_the_stream() -> None:
    listener = PieceListener(pieces=3)
    with serving(lambda messages: "word " * 400, pause=0.01) as server:
        reply = model(server).complete(ASK, Sampling(), listener)
        until = time.monotonic() + 5
        while not server.hung_up and time.monotonic() < until:
            time.sleep(0.01)
        assert server.hung_up == 1, "the connection is closed, so the rest is not paid for"
        assert server.pieces < 100
    assert (reply.text, reply.finish) == ("word " * 4 + "word", "cut")
    assert reply.text == listener.text
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
    with serving(lambda messages: completion, refused_parameters=refuses) as server:
        reply = model(server).complete(ASK, Sampling())
    assert (reply.finish, reply.text) == (finish, text)


def test_a_reply_has_the_cached_tokens_and_the_file_name_of_the_model() -> None:
    with serving(lambda messages: Completion("yes", cached=4), model="/home/someone/models/small.gguf") as server:
        reply = model(server).complete(ASK, Sampling())
    assert (reply.usage, reply.model) == (Usage(prompt=5, completion=1, cached=4), "small.gguf")


def test_lone_surrogates_in_a_reply_are_replaced_or_joined() -> None:
    with serving(lambda messages: "1234567\U0001f642") as server:
        halves = "1234567\ud83d", "\ude42"
        server.answer = lambda messages: "".join(halves)
        reply = model(server).complete([Message(role="user", content="half \ud83d here")], Sampling())
        assert server.requests[0]["messages"][0]["content"] == "half ? here"
    assert reply.text == "1234567\U0001f642"


def test_lone_surrogates_in_a_refusal_are_replaced_or_joined() -> None:
    deltas = {"refusal": "\ud83d"}, {"refusal": "\ude42 no \ud83d"}
    chunks = [
        {"choices": [{"delta": delta, "finish_reason": reason}]}
        for delta, reason in zip(deltas, (None, "stop"), strict=True)
    ]
    assert read_stream(chunks, ReplyListener(None)).refusal == "\U0001f642 no \ufffd"


@pytest.mark.parametrize("name", ["reasoning_content", "reasoning"])
@pytest.mark.parametrize("refuses", [frozenset(), frozenset({"stream"})])
def test_the_reasoning_is_separate_from_the_reply(name: str, refuses: frozenset[str]) -> None:
    completion, listener = (
        Completion("agent.open('box_1')", reasoning="First, box_2? No.", reasoning_field=name),
        PieceListener(),
    )
    with serving(lambda messages: completion, refused_parameters=refuses) as server:
        reply = model(server).complete(ASK, Sampling(), listener)
    assert (reply.text, reply.reasoning) == (completion.text, completion.reasoning)
    assert listener.text == completion.text
