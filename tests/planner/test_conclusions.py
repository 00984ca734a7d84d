"""Conclusions from an episode: the question to the planner, and the code or text that is kept."""

from collections.abc import Sequence

import pytest

from planbook.envs.toy import Toy
from planbook.planner import (
    Ending,
    MemoryJournal,
    Message,
    Outcome,
    Scope,
    Trajectory,
    conclude,
)
from planbook.planner.roles import Roles
from planbook.planner.strategies.automanual import standalone
from planbook.planner.trajectory import RecordedRecall
from planbook.sandbox import defined_names
from tests.planner.episode_kit import trajectory
from tests.planner.streaming_kit import PieceModel

HELPERS = """import re
from math import inf
LIMIT = 9

def names(text):
    return re.findall(r"box_[0-9]", text)[:LIMIT]

def boxes(task):
    \"\"\"All the boxes.\"\"\"
    return names(task.observation)

def farthest():
    return inf

class Finder:
    pass
"""


def episode(outcome: Outcome, code: str = "agent.open('box_1')", helpers: str = "", knowledge: str = "") -> Trajectory:
    recall = RecordedRecall(order=1, text=knowledge, helpers=helpers)
    return trajectory(code, ending=Ending(outcome=outcome), recall=recall)


def concluded(text: str, played: Trajectory, *, always: bool = True) -> tuple[str, str, list[Sequence[Message]]]:
    """Return the text and the code of the conclusion, and the requests to the model."""
    model = PieceModel([text])
    scope = Scope(MemoryJournal(), "learn/0/conclusion/0", Roles(model.model, {}))
    conclusion = conclude(scope, played, Toy, Toy.Options(), always=always)
    return conclusion.text, conclusion.code, model.asked


CODE = "### Mistakes\nI forgot box_2.\n### Code\n```python\nagent.open('box_2')\n```"
QUESTIONS = (
    "The code above did the task.",
    "The task was done in the end, but not at the first attempt.",
    "The task was not done. Go through the actions",
)


def questions_in(messages: Sequence[Message]) -> list[str]:
    assert [message.role for message in messages] == ["system", "user"]
    assert "agent.open(box: str)" in messages[0].content
    assert "A toy world" in messages[0].content
    assert "A room." in messages[1].content
    return [question for question in QUESTIONS if question in messages[1].content]


@pytest.mark.parametrize(
    ("outcome", "question"), [(Outcome.DIRECT_SUCCESS, QUESTIONS[0]), (Outcome.INDIRECT_SUCCESS, QUESTIONS[1])]
)
def test_the_conclusion_of_a_success_keeps_its_code(outcome: Outcome, question: str) -> None:
    text, code, (messages,) = concluded(CODE, episode(outcome))
    assert (code, "I forgot box_2." in text) == ("agent.open('box_2')", True)
    assert questions_in(messages) == [question]


@pytest.mark.parametrize("outcome", [Outcome.FAILURE, Outcome.OUT_OF_BUDGET])
def test_the_conclusion_of_a_failure_keeps_text_and_no_code(outcome: Outcome) -> None:
    text, code, (messages,) = concluded(f"  {CODE}\n", episode(outcome, knowledge="Boxes stick (rule_2)."))
    assert (text, code) == (CODE, "")
    assert questions_in(messages) == [QUESTIONS[2]]
    assert "Boxes stick (rule_2)." in messages[1].content


def test_a_success_with_one_plan_needs_no_question() -> None:
    helpers = "def look(agent):\n    return agent.open('box_1')\n"
    assert concluded(CODE, episode(Outcome.DIRECT_SUCCESS), always=False) == ("", "agent.open('box_1')", [])
    with_helper = episode(Outcome.DIRECT_SUCCESS, code="look(agent)", helpers=helpers)
    assert concluded(CODE, with_helper, always=False)[1:] == (f"{helpers.rstrip()}\n\n\nlook(agent)", [])
    for outcome in (Outcome.INDIRECT_SUCCESS, Outcome.FAILURE):
        assert len(concluded(CODE, episode(outcome), always=False)[2]) == 1


@pytest.mark.parametrize(
    ("outcome", "reply"),
    [
        (Outcome.DIRECT_SUCCESS, "It went well."),
        (Outcome.INDIRECT_SUCCESS, "```python\ndef solve():\n    agent.open('box_1')\n```"),
        (Outcome.FAILURE, " \n"),
    ],
)
def test_a_conclusion_without_a_usable_reply_is_empty(outcome: Outcome, reply: str) -> None:
    text, code, requests = concluded(reply, episode(outcome))
    assert (text, code, len(requests)) == ("", "", 3)


class Task:
    observation = "box_1, box_2"


@pytest.mark.parametrize(
    ("code", "helpers"),
    [
        ("x = boxes(task)", {"names", "boxes"}),
        ("def f(task):\n    return boxes(task)\nx = f(task)", {"names", "boxes"}),
        ("x = [Finder(), farthest()]", {"Finder", "farthest"}),
        ("x = inf", set[str]()),
        ("def boxes(task):\n    return []\nx = boxes(task)", set[str]()),
    ],
)
def test_standalone_code_includes_the_helpers_that_it_uses(code: str, helpers: set[str]) -> None:
    alone = standalone(code, HELPERS)
    assert alone.endswith(code)
    space: dict[str, object] = {"task": Task}
    exec(alone, space)
    assert "x" in space
    assert set(defined_names(alone)) - set(defined_names(code)) == helpers


def test_standalone_code_without_helpers_is_unchanged() -> None:
    for code in ("x = 1", "def boxes(task):\n    return []\nboxes(task)\n", ""):
        assert standalone(code, HELPERS) == code
        assert standalone(code, "") == code
