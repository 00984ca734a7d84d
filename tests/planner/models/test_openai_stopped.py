"""A failing plan closes the connection to a real HTTP server, so that no more tokens are paid for."""

import time
from typing import Any

from planbook.planner import FeedbackKind, MemoryJournal
from planbook.planner.models.openai_api import OpenAIModel
from planbook.planner.strategies.adapt.executor import EXECUTOR
from planbook.sandbox import Sandbox
from tests.openai_server import PIECE, serving
from tests.planner.streaming_kit import episode
from tests.planner.test_streaming import GoOnPrompt, reply

TAIL = "print('on and on')\n" * 60
FAILING = reply(f"agent.open('box_1')\n1 / 0\n{TAIL}")


def test_a_failing_step_stops_the_stream_immediately(sandbox: Sandbox) -> None:
    journal = MemoryJournal()
    with serving(lambda messages: FAILING, pause=0.004) as server:
        playing = episode(sandbox, OpenAIModel("any", base_url=server.url), journal)
        playing.begin()
        result = playing.stream(EXECUTOR, GoOnPrompt())
        playing.close()
        until = time.monotonic() + 5
        while not server.hung_up and time.monotonic() < until:
            time.sleep(0.01)
        assert server.hung_up == 1
        assert server.pieces < len(FAILING) / PIECE / 2, "tokens that were not sent are not paid for"
    assert result.feedback.kind is FeedbackKind.RAISED
    recorded: Any = next(body["reply"] for (_, kind, _), body in journal.events.items() if kind == "ask")
    assert recorded["finish"] == "cut"
    assert recorded["text"] == FAILING[: FAILING.index("print('on") + len("print('on and on')\n")]
    assert recorded["usage"]["estimated"] is True
    assert 0 < recorded["usage"]["completion"] < len(FAILING) / PIECE / 2
