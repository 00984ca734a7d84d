"""Episodes and settings that the tests of Builder and Consolidator begin with, and their model."""

from collections.abc import Sequence

from planbook.envs import Selection
from planbook.envs.toy import Toy
from planbook.planner import (
    Cell,
    Conclusion,
    Ending,
    Feedback,
    FeedbackKind,
    MemoryJournal,
    Outcome,
    Round,
    Scope,
    Trajectory,
)
from planbook.planner.roles import Roles
from planbook.planner.types import Thought
from planbook.rules import BuilderSettings
from tests.rules.replies import Replies

TERMS = BuilderSettings(environment=Toy, options=Toy.Options())
TASK = Toy.tasks(Selection(ids=("fetch/0",)))[0]
CONCLUSION = Conclusion(text="I looked into one box only.", code="agent.open('box_2')")


def episode(outcome: Outcome, path: str = "task/3") -> Trajectory:
    cell = Cell(
        scope=f"{path}/round/0/plan/0",
        number=0,
        source="planner",
        code="agent.open('box_1')",
        thought=Thought(text="It may be in box_1."),
        feedback=Feedback(kind=FeedbackKind.UNFINISHED, text="1. agent.open('box_1') -> You open box_1."),
    )
    rounds = (Round(number=0, observation="You see box_1 and box_2.", cells=(cell,)),)
    return Trajectory(path=path, task=TASK, rounds=rounds, ending=Ending(outcome=outcome, error_steps=1))


def asking(*texts: str) -> tuple[Scope, Replies]:
    """A scope whose model says these texts, and the model."""
    model = Replies(texts)
    return Scope(MemoryJournal(), "learn/3/builder/0", Roles(lambda role: model, {})), model


def edits(*calls: str) -> str:
    lines = "\n".join(f"rule_system.{call}" for call in calls)
    return f"### Potential rules\nSome.\n### Code\n```python\n{lines}\n```"


def last(model: Replies, number: int) -> str:
    """What the model was asked last in a conversation."""
    return model.asked[number][-1].content


def roles(model: Replies, number: int) -> Sequence[str]:
    return [message.role for message in model.asked[number]]
