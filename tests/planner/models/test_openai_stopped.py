"""A plan that fails stops a real server's stream: the connection is closed, and no further token is paid for."""

import time

from planbook.planner import FeedbackKind, MemoryJournal
from planbook.planner.models.openai_api import OpenAIModel
from planbook.planner.strategies.adapt.executor import EXECUTOR
from planbook.sandbox import Sandbox
from tests.openai_server import PIECE, serving
from tests.planner.pieces import episode
from tests.planner.test_streaming import GoOn, reply

TAIL = "print('on and on')\n" * 60
FAILING = reply(f"agent.open('box_1')\n1 / 0\n{TAIL}")


def test_a_failing_step_stops_the_stream_at_once(sandbox: Sandbox) -> None:
    journal = MemoryJournal()
    with serving(lambda messages: FAILING, pause=0.004) as server:
        playing = episode(sandbox, OpenAIModel("any", base_url=server.url), journal)
        playing.begin()
        told = playing.stream(EXECUTOR, GoOn())
        playing.close()
        until = time.monotonic() + 5
        while not server.hung_up and time.monotonic() < until:
            time.sleep(0.01)
        assert server.hung_up == 1
        assert server.pieces < len(FAILING) / PIECE / 2, "tokens that were not sent are not paid for"
    assert told.feedback.kind is FeedbackKind.RAISED
    asked = next(body for (_, kind, _), body in journal.events.items() if kind == "ask")
    answered = asked["reply"]
    assert isinstance(answered, dict)
    assert answered["finish"] == "cut"
    assert answered["text"] == FAILING[: FAILING.index("print('on") + len("print('on and on')\n")]
    usage = answered["usage"]
    assert isinstance(usage, dict)
    assert usage["estimated"] is True
    assert isinstance(usage["completion"], int)
    assert 0 < usage["completion"] < len(FAILING) / PIECE / 2


def test_a_server_that_does_not_stream_gives_the_same_in_one_piece(sandbox: Sandbox) -> None:
    texts, feedbacks = [], []
    for refuses in (frozenset[str](), frozenset({"stream"})):
        journal = MemoryJournal()
        with serving(lambda messages: FAILING, refuses=refuses) as server:
            playing = episode(sandbox, OpenAIModel("any", base_url=server.url), journal)
            playing.begin()
            feedbacks.append(playing.stream(EXECUTOR, GoOn()))
            playing.close()
        asked = next(body for (_, kind, _), body in journal.events.items() if kind == "ask")
        answered = asked["reply"]
        assert isinstance(answered, dict)
        texts.append(answered["text"])
    assert feedbacks[0] == feedbacks[1]
    assert texts[0] == texts[1]
