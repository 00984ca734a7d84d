"""What is asked of a planner when an episode is over, and what becomes of its answer."""

from collections.abc import Sequence

import pytest

from planbook.envs import Selection
from planbook.envs.toy import Toy
from planbook.planner import Ending, MemoryJournal, Outcome, Round, Scope, Trajectory, conclude
from planbook.planner.conclusion import standalone
from planbook.planner.models import Message, OnText, Reply, Sampling
from planbook.planner.roles import Roles
from planbook.planner.trajectory import Recalled
from planbook.planner.types import Cell, Feedback, FeedbackKind, Thought
from planbook.sandbox import defined_names

TASK = Toy.tasks(Selection(ids=("fetch/0",)))[0]
HELPERS = """import re
from math import inf
LIMIT = 9
STATE = 0
STATE = 1

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


class Said:
    """Answers with one text for ever, and keeps what it was asked."""

    name = "said"

    def __init__(self, text: str) -> None:
        self._text, self.asked = text, list[Sequence[Message]]()

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        self.asked.append(messages)
        return Reply(text=self._text)


def over(outcome: Outcome, helpers: str = "", knowledge: str = "") -> Trajectory:
    cell = Cell(
        scope="task/0/round/0",
        number=0,
        source="planner",
        code="agent.open('box_1')",
        thought=Thought(text="Look."),
        feedback=Feedback(kind=FeedbackKind.UNFINISHED, text="It ran."),
    )
    rounds = (Round(number=0, observation="A room.", cells=(cell,)),)
    ending = Ending(outcome=outcome)
    recall = Recalled(order=1, text=knowledge, helpers=helpers)
    return Trajectory(path="task/0", task=TASK, rounds=rounds, ending=ending, recall=recall)


def concluded(text: str, trajectory: Trajectory, *, always: bool = True) -> tuple[str, str, list[Sequence[Message]]]:
    model = Said(text)
    scope = Scope(MemoryJournal(), "learn/0/conclusion/0", Roles(lambda role: model, {}))
    conclusion = conclude(scope, trajectory, Toy, Toy.Options(), always=always)
    return conclusion.text, conclusion.code, model.asked


CODE = "### Mistakes\nI forgot box_2.\n### Code\n```python\nagent.open('box_2')\n```"
FAILED = (Outcome.FAILURE, Outcome.OUT_OF_BUDGET)


@pytest.mark.parametrize(
    ("outcome", "asks"),
    [
        (Outcome.DIRECT_SUCCESS, "The code above did the task."),
        (Outcome.INDIRECT_SUCCESS, "The task was done in the end, but not at once."),
        (Outcome.FAILURE, "The task was not done. Go through the actions"),
        (Outcome.OUT_OF_BUDGET, "The task was not done. Go through the actions"),
    ],
)
def test_each_outcome_has_its_question(outcome: Outcome, asks: str) -> None:
    _, _, (messages,) = concluded(CODE, over(outcome))
    assert [message.role for message in messages] == ["system", "user"]
    assert "agent.open(box: str)" in messages[0].content
    assert "A toy world" in messages[0].content
    assert asks in messages[1].content
    assert "A room." in messages[1].content
    others = ("did the task.", "in the end, but not at once", "Go through the actions")
    assert sum(other in messages[1].content for other in others) == 1


@pytest.mark.parametrize("outcome", [Outcome.DIRECT_SUCCESS, Outcome.INDIRECT_SUCCESS])
def test_a_success_leaves_its_code(outcome: Outcome) -> None:
    text, code, _ = concluded(CODE, over(outcome))
    assert (code, "I forgot box_2." in text) == ("agent.open('box_2')", True)


def test_nothing_is_asked_where_one_plan_did_the_task() -> None:
    """Its code is the conclusion's, with the helpers that it uses."""
    helpers = "def look(agent):\n    return agent.open('box_1')\n"
    assert concluded(CODE, over(Outcome.DIRECT_SUCCESS), always=False) == ("", "agent.open('box_1')", [])
    used = over(Outcome.DIRECT_SUCCESS, helpers=helpers)
    (cell,) = used.rounds[0].cells
    used = used.model_copy(
        update={
            "rounds": (used.rounds[0].model_copy(update={"cells": (cell.model_copy(update={"code": "look(agent)"}),)}),)
        }
    )
    assert concluded(CODE, used, always=False)[1:] == (f"{helpers.rstrip()}\n\n\nlook(agent)", [])
    for outcome in (Outcome.INDIRECT_SUCCESS, Outcome.FAILURE):
        assert len(concluded(CODE, over(outcome), always=False)[2]) == 1


@pytest.mark.parametrize("outcome", FAILED)
def test_a_failure_leaves_a_text_and_never_code(outcome: Outcome) -> None:
    text, code, (messages,) = concluded(f"  {CODE}\n", over(outcome, knowledge="Boxes stick (rule_2)."))
    assert (text, code) == (CODE, "")
    assert "Boxes stick (rule_2)." in messages[1].content


@pytest.mark.parametrize(
    ("outcome", "reply", "asked"),
    [
        (Outcome.DIRECT_SUCCESS, "It went well.", 3),
        (Outcome.INDIRECT_SUCCESS, "```python\ndef solve():\n    agent.open('box_1')\n```", 3),
        (Outcome.FAILURE, " \n", 3),
    ],
)
def test_an_unusable_conclusion_is_an_empty_one(outcome: Outcome, reply: str, asked: int) -> None:
    trajectory = over(outcome)
    text, code, messages = concluded(reply, trajectory)
    assert (text, code, len(messages)) == ("", "", asked)
    assert trajectory.ending.outcome is outcome


def test_the_code_of_a_success_brings_the_helpers_that_it_uses() -> None:
    reply = "```python\nfor box in boxes(task):\n    agent.open(box)\n```"
    _, code, _ = concluded(reply, over(Outcome.DIRECT_SUCCESS, helpers=HELPERS))
    assert code.endswith("\n\nfor box in boxes(task):\n    agent.open(box)")
    assert defined_names(code) == ["names", "boxes"]
    assert "import re\n" in code
    assert "LIMIT = 9" in code
    assert "Finder" not in code
    assert "inf" not in code


class Task:
    observation = "box_1, box_2"


@pytest.mark.parametrize(
    ("code", "brings"),
    [
        ("x = boxes(task)", {"names", "boxes"}),
        ("x = list(map(boxes, [task]))", {"names", "boxes"}),
        ("def f(task):\n    return boxes(task)\nx = f(task)", {"names", "boxes"}),
        ("x = [Finder(), farthest()]", {"Finder", "farthest"}),
        ("x = re.findall('b', 'ab')[:LIMIT]", set[str]()),
        ("x = inf", set[str]()),
        ("x = 'boxes(task)'  # boxes", set[str]()),
        ("def boxes(task):\n    return []\nx = boxes(task)", set[str]()),
        ("names = boxes(task)\nx = names", {"names", "boxes"}),
        ("from math import inf\nx = farthest() == inf", {"farthest"}),
        ("LIMIT = 1\nx = names('box_1')", {"names"}),
    ],
)
def test_code_stands_alone_with_what_it_uses(code: str, brings: set[str]) -> None:
    alone = standalone(code, HELPERS)
    assert alone.endswith(code)
    space: dict[str, object] = {"task": Task}
    exec(alone, space)
    assert "x" in space
    own = set(defined_names(code))
    assert set(defined_names(alone)) - own == brings


def test_code_that_uses_no_helper_stays_as_it_is() -> None:
    for code in ("x = 1", "def boxes(task):\n    return []\nboxes(task)\n", ""):
        assert standalone(code, HELPERS) == code
        assert standalone(code, "") == code
