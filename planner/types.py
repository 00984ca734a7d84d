"""The records of an episode: settings, steps, cells, feedback and ending.

A step is one action. A cell is a piece of plan code that is run as a unit; it may take any number of steps.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from planbook.envs import Action, Observation, Verdict
from planbook.planner.rendered_text import Text
from planbook.sandbox import Fault, Limits


class FeedbackKind(StrEnum):
    """The kind of a cell's result. Each value of ``FaultKind`` is also a value of this enumeration."""

    DONE = "done"
    """The environment ended its episode."""
    UNFINISHED = "unfinished"
    """The cell ended without an error, but the task is not done."""
    PARSE = "parse"
    """The model gave no usable reply."""
    CHECK = "check"
    """The check refused the plan, or the part of the plan that had not run yet."""
    RAISED = "raised"
    """The plan raised an exception."""
    LIMIT = "limit"
    """The plan exceeded a limit of the sandbox, or a limit of the episode ended the episode."""


ERROR_KINDS = frozenset({FeedbackKind.PARSE, FeedbackKind.CHECK, FeedbackKind.RAISED, FeedbackKind.LIMIT})
"""The kinds of results that count as errors of the plan."""


class Outcome(StrEnum):
    """The outcome of an episode. Every outcome, even NOT_RUN, counts in the denominator of a success rate."""

    DIRECT_SUCCESS = "direct_success"
    """The task was solved, and no cell ended in an error."""
    INDIRECT_SUCCESS = "indirect_success"
    """The task was solved after at least one error."""
    FAILURE = "failure"
    OUT_OF_BUDGET = "out_of_budget"
    """The episode used up its actions."""
    BROKEN = "broken"
    """The engine or the environment failed, not the plan."""
    NOT_RUN = "not_run"
    """The run ended before the episode was played."""

    @property
    def played(self) -> bool:
        """True if the outcome says something about the method: the episode was played and is not broken."""
        return self not in (Outcome.BROKEN, Outcome.NOT_RUN)

    @property
    def solved(self) -> bool:
        """True if the task was solved."""
        return self in (Outcome.DIRECT_SUCCESS, Outcome.INDIRECT_SUCCESS)


class Record(BaseModel):
    """Base class of the records in a journal."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Step(Record):
    """One action. ``cell`` is the number of its cell in the scope, from 0. ``line`` is the plan line that took it."""

    order: int | None = Field(default=None, ge=0, exclude_if=lambda order: order is None)
    """Position of the step in the sequence of the episode's events. None unless it was read back from the journal."""
    scope: str
    cell: int
    line: int | None
    action: Action
    observation: Observation
    counted: bool = True
    """False for an action that does not count towards the limit on actions. Only older runs have such actions."""
    printed: str = ""
    """What the plan has printed since the previous step."""
    undone: bool = False
    """True if a later rewind undid the step. An undone step still counts towards the limit on actions."""


class Feedback(Record):
    """The result of a cell, as the planner sees it. ``line`` is the line of the first fault in the cell."""

    wording_fields: ClassVar = frozenset({"text"})
    """These fields are left out of the digest that identifies a recorded reply. Other fields hold their data."""

    kind: FeedbackKind
    text: Text
    line: int | None = None
    faults: tuple[Fault, ...] = ()
    output: str = ""

    @property
    def is_error(self) -> bool:
        """True if the cell ended in an error. It is no error if a plan ends before the task is done."""
        return self.kind in ERROR_KINDS


class Thought(Record):
    """The text before the code in a planner's reply. ``text`` is the whole text; other fields are segments of it.

    ``rule_ids`` are the ids of the rules that the planner says it has considered.
    """

    text: str = ""
    understanding: str = ""
    mistakes: str = ""
    rules: str = ""
    rule_ids: tuple[str, ...] = ()
    plan: str = ""


class Plan(Record):
    """A planner's reply: the text before the code, and the code."""

    thought: Thought
    code: str


class Cell(Record):
    """A piece of plan code that was run as a unit. ``source`` is its origin: a role, a procedure or a file."""

    order: int | None = Field(default=None, ge=0, exclude_if=lambda order: order is None)
    """Position of the cell's end in the sequence of the episode's events, after the steps of the cell.

    None unless the cell was read back from the journal.
    """
    scope: str
    number: int
    source: str
    code: str
    thought: Thought = Thought()
    feedback: Feedback


class Ending(Record):
    """The ending of an episode. ``cause`` says why the task was not solved, or is empty if it was."""

    outcome: Outcome
    cause: str = ""
    message: str = ""
    verdict: Verdict = Verdict(False, 0.0)
    actions: int = 0
    error_steps: int = 0
    """Number of errors, which table 3 of the AutoManual paper calls error steps.

    An error is a cell that ended in an error, or a plan that should have done the whole task, but did not.
    """
    milestones: tuple[str, ...] = Field(default=(), exclude_if=lambda reached: not reached)
    """The milestones that were reached, if the environment has milestones."""
    measures: Mapping[str, float] = Field(default={}, exclude_if=lambda measured: not measured)
    """Maps the names of the environment's own measures to their values."""


@dataclass(frozen=True)
class EpisodeSettings:
    """The limits, the seed and the modes of an episode. ``actions`` limits the actions of all rounds together."""

    actions: int
    limits: Limits = field(default_factory=Limits)
    seed: str = "0"
    stream: bool = False
    """Run plans while the model is still writing them."""
    dry_run: bool = False
    """Refuse a plan before its first action if a dry run finds an action that cannot succeed.

    With ``stream``, the statements before that action may already have run. Then only the rest of the plan is refused.
    """
