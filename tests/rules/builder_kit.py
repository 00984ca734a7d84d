"""A kit for tests of Builder and Consolidator: a scope with scripted replies, and an episode to ask about."""

from planbook.envs.toy import Toy
from planbook.planner import (
    Conclusion,
    Ending,
    MemoryJournal,
    Outcome,
    Scope,
    Trajectory,
)
from planbook.planner.roles import Roles
from planbook.rules import BuilderSettings
from tests.planner.episode_kit import Replies, trajectory

SETTINGS = BuilderSettings(environment=Toy, options=Toy.Options())
CONCLUSION = Conclusion(text="I looked into one box only.", code="agent.open('box_2')")
STOP = "stop_generating()"


def scripted_scope(*texts: str) -> tuple[Scope, Replies]:
    """Return a scope for questions, and its model, which gives these replies."""
    model = Replies(*texts)
    return Scope(MemoryJournal(), "learn/3/builder/0", Roles(lambda role: model, {})), model


def episode(outcome: Outcome) -> Trajectory:
    """Return an episode with one round and one plan."""
    return trajectory(
        thought="It may be in box_1.",
        feedback="1. agent.open('box_1') -> You open box_1.",
        observation="You see box_1 and box_2.",
        path="task/3",
        ending=Ending(outcome=outcome, error_steps=1),
    )


def edits(*calls: str) -> str:
    """Return a reply with these calls of the rule system."""
    lines = "\n".join(f"rule_system.{call}" for call in calls)
    return f"### Potential rules\nSome.\n### Code\n```python\n{lines}\n```"
