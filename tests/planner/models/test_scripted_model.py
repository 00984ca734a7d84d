"""The scripted model, which is part of the public interface."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from planbook.planner import Message, Model, Sampling, ScriptedModel
from planbook.planner.errors import ContextExceeded, ModelRefused
from planbook.planner.models.types import estimated_usage
from tests.piece_listener import PieceListener

ASK = [Message(role="user", content="What now?")]


def test_a_function_sees_the_messages_and_the_sampling() -> None:
    model: Model = ScriptedModel(lambda messages, sampling: f"{messages[-1].content} {sampling.seed}", name="mine")
    reply = model.complete(ASK, Sampling(seed=7))
    assert (reply.text, reply.finish, reply.model) == ("What now? 7", "stop", "mine")
    assert reply.usage == estimated_usage(ASK, "What now? 7")
    assert reply.usage.estimated


def test_a_list_of_texts_is_used_in_order_and_runs_out() -> None:
    model = ScriptedModel(["one", "two"])
    assert [model.complete(ASK, Sampling()).text for _ in range(2)] == ["one", "two"]
    with pytest.raises(ModelRefused, match=r"scripted for scripted are used up \(2 in all\).*'What now\?'\. Add"):
        model.complete(ASK, Sampling())


def test_threads_share_the_texts() -> None:
    model = ScriptedModel([str(number) for number in range(200)])
    with ThreadPoolExecutor(4) as pool:
        texts = list(pool.map(lambda _: model.complete(ASK, Sampling()).text, range(200)))
    assert sorted(texts, key=int) == [str(number) for number in range(200)]


def test_a_listener_gets_pieces_and_may_stop() -> None:
    text = "x" * 100
    listener = PieceListener()
    assert ScriptedModel([text]).complete(ASK, Sampling(), listener).finish == "stop"
    assert listener.text == text
    assert len(listener.received) > 3

    reply = ScriptedModel([text]).complete(ASK, Sampling(), lambda piece: False)
    assert (reply.text, reply.finish) == (listener.received[0], "cut")
    assert reply.usage == estimated_usage(ASK, listener.received[0])
    short = ScriptedModel(["short"]).complete(ASK, Sampling(), lambda piece: False)
    assert (short.text, short.finish) == ("short", "stop")  # the text had already ended


def test_a_failing_script_is_named_and_may_raise_errors_of_models() -> None:
    def broken(messages: object, sampling: object) -> str:
        raise KeyError("gone")

    def full(messages: object, sampling: object) -> str:
        raise ContextExceeded("full")

    with pytest.raises(ModelRefused, match=rf"scripted raised KeyError: 'gone' \({Path(__file__).name}:\d+\)$"):
        ScriptedModel(broken).complete(ASK, Sampling())
    with pytest.raises(ContextExceeded, match="full"):
        ScriptedModel(full).complete(ASK, Sampling())
    with pytest.raises(ModelRefused, match="returned a NoneType"):
        ScriptedModel(lambda messages, sampling: None).complete(ASK, Sampling())  # type: ignore[arg-type, return-value]
    with pytest.raises(ModelRefused, match="a single str"):
        ScriptedModel("not a list")
