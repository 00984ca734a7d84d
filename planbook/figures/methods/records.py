"""What planning methods record of their own: sub-tasks that they gave, goals and branches that they tried, nodes."""

from collections.abc import Sequence
from math import inf
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field, JsonValue

from planbook.planner.strategies.deps.horizon import probabilities

Fate = Literal["kept", "turned back", "failed", "over", "not tried", "abandoned"]
"""Of a branch: kept to the end; seen to be wrong; an error; the end of the episode; never needed; kept at first, and
left later, when something further on failed."""
NOT_TRIED: Fate = "not tried"


class Recorded(BaseModel):
    """Base of the bodies of such events: each is that of the kind of its name (a ``plan`` for Planned).

    Exported episodes have them, too (``planbook.trajectories.parts``), with these words on their fields.
    """

    model_config = ConfigDict(frozen=True, use_attribute_docstrings=True)


class Subtask(Recorded):
    """What somebody was given to do, and what was said of it in the end."""

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


class Prospect(NamedTuple):
    """A goal that could be tried: its time steps as predicted, None for no end, and how likely it was (equation 2)."""

    goal: str
    steps: float | None
    probability: float


class Goal(Recorded):
    """A goal of a plan that was tried, as plan code calls it."""

    goal: str
    """As the plan has it."""
    chosen: str = ""
    """As it was tried, which may be another way to the same thing."""
    done: bool
    reason: str = ""
    """What was said of it, why it failed above all."""
    round: int | None = None
    """How often the planner had planned anew by then, where that was recorded."""
    selector: str = ""
    """What chose it among the goals that could be tried then."""
    candidates: tuple[str, ...] = ()
    """What could be tried then."""
    predicted: tuple[float | None, ...] = ()
    """The time steps that the selector predicted for each of them; None for no end. Empty where it predicts none."""
    said: str = ""
    """What the plan says that was no valid call and was taken for this goal; empty for a valid one."""

    @property
    def prospects(self) -> Sequence[Prospect]:
        """The candidates of a selector that predicted, in its order."""
        if not any(steps is not None for steps in self.predicted):
            return ()
        likely = probabilities([inf if steps is None else steps for steps in self.predicted])
        return [Prospect(*each) for each in zip(self.candidates, self.predicted, likely, strict=True)]


class Planned(Recorded):
    """A plan as a list of sub-tasks."""

    round: int
    """From 0."""
    parts: tuple[str, ...]
    revision: bool = False
    why: str = ""
    """What a review of the history said."""


class Branch(Recorded):
    """A node of what was tried: some code, in the state that its ``parent`` led to."""

    round: int
    number: int
    parent: int | None = None
    """None: the start of the round."""
    subtask: str
    idea: int = 0
    """0 is the first idea, from 1 on the remedies that were thought of beforehand."""
    code: str
    cell: int | None = None
    """The number of the cell that ran it, in its frame."""
    mapped: str = ""
    """The code as it was run first, where the page had changed."""
    again: tuple[str, ...] | None = Field(default=None, exclude_if=lambda again: again is None)
    """The code of each later time, where the way was walked again."""
    fate: Fate
    why: str = ""
    history: str = ""
    """What it did, in a sentence."""
    actions: int = 0
    lasting: bool = False
    """Whether it changed what a rewind does not bring back."""
    value: float | None = None
    visits: int | None = None


class Node(Recorded):
    """A node of a prompt graph in one pass."""

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
