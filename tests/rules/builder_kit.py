"""A kit for tests of Builder and Consolidator: a scope with scripted replies, and an episode to ask about."""

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
from tests.planner.episode_kit import TASK, Replies

SETTINGS = BuilderSettings(environment=Toy, options=Toy.Options())
CONCLUSION = Conclusion(text="I looked into one box only.", code="agent.open('box_2')")
STOP = "stop_generating()"


def scripted_scope(*texts: str) -> tuple[Scope, Replies]:
    """Return a scope for questions, and its model, which gives these replies."""
    model = Replies(*texts)
    return Scope(MemoryJournal(), "learn/3/builder/0", Roles(lambda role: model, {})), model


def episode(outcome: Outcome) -> Trajectory:
    """Return an episode with one round and one plan."""
    cell = Cell(
        scope="task/3/round/0/plan/0",
        number=0,
        source="planner",
        code="agent.open('box_1')",
        thought=Thought(text="It may be in box_1."),
        feedback=Feedback(kind=FeedbackKind.UNFINISHED, text="1. agent.open('box_1') -> You open box_1."),
    )
    rounds = (Round(number=0, observation="You see box_1 and box_2.", cells=(cell,)),)
    return Trajectory(path="task/3", task=TASK, rounds=rounds, ending=Ending(outcome=outcome, error_steps=1))


def edits(*calls: str) -> str:
    """Return a reply with these calls of the rule system."""
    lines = "\n".join(f"rule_system.{call}" for call in calls)
    return f"### Potential rules\nSome.\n### Code\n```python\n{lines}\n```"
