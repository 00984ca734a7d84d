"""Reasoning models: the reasoning is kept apart from the reply."""

import time

import pytest
from hypothesis import given, strategies as st

from planbook.planner import Reply
from planbook.planner.replies import ReasoningFilter, split_reasoning, without_reasoning

CODE = "```python\nprint('</think>')\n```"


@pytest.mark.parametrize(
    ("text", "reasoning", "rest"),
    [
        ("<think>Maybe: no.</think>\nplan", "Maybe: no.", "\nplan"),
        ("\n <think>\n```python\ndraft()\n```\n</think>plan", "\n```python\ndraft()\n```\n", "plan"),
        ("<thinking>a</thinking>plan", "a", "plan"),
        ("<think>never closed\n```python\ndraft()\n```", "never closed\n```python\ndraft()\n```", ""),
        ("No tag:\n```\ndraft()\n```\n</think>plan", "No tag:\n```\ndraft()\n```\n", "plan"),
        (f"Plan\n{CODE}\n", "", f"Plan\n{CODE}\n"),
        ("say <think> in the middle", "", "say <think> in the middle"),
        ("<think>a</think>\n<THINK>draft()</THINK>plan", "a\ndraft()", "plan"),
        ("x = 1\nprint('</think>')", "", "x = 1\nprint('</think>')"),
        ("<think></think>\n</think>", "", "\n</think>"),
    ],
)  # fmt: skip
def test_reasoning_is_split_from_the_beginning_of_a_reply(text: str, reasoning: str, rest: str) -> None:
    assert split_reasoning(text) == (reasoning, rest)
    reply = without_reasoning(Reply(text=text))
    assert (reply.reasoning, reply.text) == (reasoning, rest)


PARTS = ("<think>", "</think>", "<thi", "nk>", "\n", "agent.open('box_1')\n", "```python\n", "```\n", " ", "x")


def test_long_reasoning_takes_linear_time() -> None:
    on_text, start = ReasoningFilter(lambda piece: False), time.process_time()
    assert all(on_text(piece) for piece in ("<think>", *["why "] * 60_000, "</thi", "nk>"))
    assert not on_text("plan")
    assert time.process_time() - start < 5


@given(st.lists(st.sampled_from(PARTS), max_size=8), st.data())
def test_a_listener_gets_the_reply_without_reasoning_however_it_is_cut(parts: list[str], data: st.DataObject) -> None:
    text = "<think>" + "".join(parts)
    cuts = sorted(data.draw(st.lists(st.integers(0, len(text)), max_size=6)))
    passed_on: list[str] = []

    def listen(piece: str) -> bool:
        passed_on.append(piece)
        return True

    on_text = ReasoningFilter(listen)
    for begin, end in zip([0, *cuts], [*cuts, len(text)], strict=True):
        if text[begin:end]:
            assert on_text(text[begin:end])
    left = split_reasoning(text)[1]
    is_start_of_tag = any(tag.startswith(left.strip().lower()) for tag in ("<think>", "<thinking>"))
    assert "".join(passed_on) == left or (not passed_on and is_start_of_tag), "further text may still complete the tag"
