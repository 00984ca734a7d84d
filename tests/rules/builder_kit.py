"""A kit for tests of Builder and Consolidator: a model that replies from a list, and an episode to ask about."""

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
    Message,
    OnText,
    Outcome,
    Reply,
    Round,
    Sampling,
    Scope,
    Trajectory,
)
from planbook.planner.roles import Roles
from planbook.planner.types import Thought
from planbook.rules import BuilderSettings

SETTINGS = BuilderSettings(environment=Toy, options=Toy.Options())
TASK = Toy.tasks(Selection(ids=("fetch/0",)))[0]
CONCLUSION = Conclusion(text="I looked into one box only.", code="agent.open('box_2')")
STOP = "stop_generating()"


class Replies:
    """A model that replies with its texts in order and keeps the messages of every request."""

    name = "replies"

    def __init__(self, texts: Sequence[str], model: str = "") -> None:
        self._texts, self._model = list(texts), model
        self.asked: list[Sequence[Message]] = []

    def complete(self, messages: Sequence[Message], sampling: Sampling, on_text: OnText | None = None) -> Reply:
        """Return the next text."""
        self.asked.append(messages)
        return Reply(text=self._texts[len(self.asked) - 1], model=self._model)

    def prompt(self, number: int) -> str:
        """Return the last message of a request."""
        return self.asked[number][-1].content

    def roles(self, number: int) -> Sequence[str]:
        """Return the roles of the messages of a request."""
        return [message.role for message in self.asked[number]]


def scripted_scope(*texts: str) -> tuple[Scope, Replies]:
    """Return a scope for questions, and its model, which gives these replies."""
    model = Replies(texts)
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
