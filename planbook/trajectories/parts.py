"""What of an episode does not lie in its rounds: what a method recorded of its own, and calls of models."""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from planbook.figures.methods.records import Fate
from planner.models import Message, Reply, Sampling

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


class SubtaskGiven(Somewhere):
    """What somebody was given to do, and what was said of it in the end (ADaPT, Reflexion)."""

    by: str
    """The role that took it."""
    text: str
    depth: int
    """0 is the task itself."""
    done: bool | None
    """As was said; None where the episode ended first."""
    note: str = ""
    handed: str = ""
    """What was handed on to it."""
    replies: int = 0


class GoalTried(Somewhere):
    """A goal of a plan that was tried, as plan code calls it (DEPS)."""

    goal: str
    """As the plan has it."""
    done: bool
    reason: str = ""
    """Why it failed above all."""
    chosen: str = ""
    """As it was tried, which may be another way to the same thing."""
    round: int | None = None
    """How often the planner had planned anew by then."""
    line: int | None = None
    """Of the plan."""
    selector: str = ""
    candidates: tuple[str, ...] = ()
    """What could be tried then."""
    predicted: tuple[float | None, ...] = ()
    """The time steps predicted for each of them; None for no end."""
    said: str = ""
    features: JsonValue = None
    """What a prediction was made from."""
    horizon: float | None = None
    """The time steps that it took."""
    actions: int = 0


class PlanMade(Somewhere):
    """A plan as a list of sub-tasks (Devil's Advocate)."""

    round: int
    parts: tuple[str, ...]
    revision: bool = False
    why: str = ""
    """What a review of the history said."""


class BranchTried(Somewhere):
    """A node of what was tried (Devil's Advocate, LATS): some code, in the state that its parent led to."""

    round: int
    number: int
    parent: int | None = None
    """None: the start of the round."""
    subtask: str
    idea: int = 0
    """0 is the first idea, from 1 on the remedies that were thought of beforehand."""
    code: str
    cell: int | None = None
    """The number of the cell that ran it."""
    mapped: str = ""
    """The code as it was run, where the page had changed."""
    fate: Fate
    why: str = ""
    history: str = ""
    """What it did, in a sentence."""
    actions: int = 0
    lasting: bool = False
    value: float | None = None
    visits: int | None = None


class NodeAnswered(Somewhere):
    """A node of a prompt graph in one pass (AgentKit)."""

    node: str
    layer: int = 0
    number: int = 0
    """Of the pass."""
    skipped: bool = False
    """Whether the last answer stood in for a new one."""
    temporary: bool = False
    answer: JsonValue = None
    stored: dict[str, JsonValue] = {}
    """What was written to the database, by its path there."""
    of: tuple[str, ...] = ()
    """The nodes whose answers it was given."""


class Call(Somewhere):
    """One question to a language model, and its reply."""

    role: str
    template: str
    """The prompt's name."""
    model: str
    sampling: Sampling
    messages: tuple[Message, ...]
    """All that was sent; empty if the episode was exported without prompts."""
    left_out: int = 0
    """Messages that were left out of the history, to fit the context."""
    cut_characters: int = 0
    reply: Reply
