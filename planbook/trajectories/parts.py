"""What of an episode does not lie in its rounds: what a method recorded of its own, and calls of models."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from planbook.figures.methods.records import Branch, Goal, Node, Planned, Subtask
from planbook.planner.models import Message, Reply, Sampling
from planbook.planner.models.requests import Given

Scope = Annotated[str, Field(pattern=r"^round/\d{1,6}(/[^/\x00-\x1f]{1,60}/\d{1,6})*$", max_length=240)]


class Part(BaseModel):
    """Base of all that an episode is written in: nothing else may stand there."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", use_attribute_docstrings=True, allow_inf_nan=False, serialize_by_alias=True
    )


class Happened(Part):
    """Something that happened at one moment of an episode."""

    order: int = Field(ge=0)
    """The moment: all that happened in the episode, whatever it was, sorted by this is the order of time.

    No two things of an episode have the same."""


class Somewhere(Happened):
    """Something that happened in a round or in a namespace inside it."""

    scope: Scope
    """Where: ``round/0`` is the namespace of the first round; below it are those of nested plans."""


class SubtaskGiven(Subtask, Somewhere):
    """What somebody was given to do, and what was said of it in the end (ADaPT, Reflexion)."""


class GoalTried(Goal, Somewhere):
    """A goal of a plan that was tried, as plan code calls it (DEPS)."""

    line: int | None = None
    """Of the plan."""
    features: JsonValue = None
    """What a prediction was made from."""
    horizon: float | None = None
    """The time steps that it took."""
    actions: int = 0


class PlanMade(Planned, Somewhere):
    """A plan as a list of sub-tasks (Devil's Advocate)."""


class BranchTried(Branch, Somewhere):
    """A node of what was tried (Devil's Advocate, LATS): some code, in the state that its parent led to."""


class NodeAnswered(Node, Somewhere):
    """A node of a prompt graph in one pass (AgentKit)."""


class Call(Somewhere):
    """One question to a language model, and its reply."""

    role: str
    template: str
    """The prompt's name."""
    model: str
    given: Given | None = Field(default=None, exclude_if=lambda given: given is None)
    """What the prompt's data were; ``planbook.planner.models.recording`` finds replies by it."""
    sampling: Sampling
    messages: tuple[Message, ...]
    """All that was sent; empty if the episode was exported without prompts."""
    left_out: int = 0
    """Messages that were left out of the history, to fit the context."""
    cut_characters: int = 0
    reply: Reply
