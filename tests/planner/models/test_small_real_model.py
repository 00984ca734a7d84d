"""A real model on a real server. PLANBOOK_TEST_MODEL_URL is the base URL of a server with OpenAI's protocol."""

import os
from pathlib import Path

import pytest

from planbook.planner import Message, RecordedModel, Sampling
from planbook.planner.errors import ContextExceeded
from planbook.planner.models.openai_api import OpenAIModel
from planbook.planner.models.types import estimate_prompt
from tests.piece_listener import PieceListener

URL = os.environ.get("PLANBOOK_TEST_MODEL_URL", "")
NAME = os.environ.get("PLANBOOK_TEST_MODEL_NAME", "small")
ASK = [
    Message(role="system", content="You write short Python functions."),  # without it, a chat template may add one
    Message(role="user", content="Write a Python function that adds two numbers."),
]

pytestmark = [pytest.mark.deep, pytest.mark.skipif(not URL, reason="PLANBOOK_TEST_MODEL_URL names no server")]


def test_a_real_model_answers_is_cut_and_is_recorded(tmp_path: Path) -> None:
    model = OpenAIModel(NAME, base_url=URL, retries=1, extra_body={"cache_prompt": False})
    listener = PieceListener()
    whole = model.complete(ASK, Sampling(max_tokens=200), listener)
    assert whole.finish in ("stop", "length")
    assert whole.text == listener.text
    assert 0 < whole.usage.completion <= 200
    assert not whole.usage.estimated
    assert 0.6 * whole.usage.prompt < estimate_prompt(ASK) < 1.6 * whole.usage.prompt

    cut = model.complete(ASK, Sampling(max_tokens=200), PieceListener(pieces=5))
    assert (cut.finish, cut.usage.estimated) == ("cut", True)
    assert whole.text.startswith(cut.text)

    recorded = RecordedModel(tmp_path / "a.jsonl", model).complete(ASK, Sampling(max_tokens=1000))
    if recorded.finish == "stop":
        assert RecordedModel(tmp_path / "a.jsonl").complete(ASK, Sampling(max_tokens=1000)).text == recorded.text


def test_a_real_server_says_when_a_prompt_is_too_long() -> None:
    with pytest.raises(ContextExceeded, match="longer than it accepts"):
        OpenAIModel(NAME, base_url=URL).complete([Message(role="user", content="word " * 200_000)], Sampling())
