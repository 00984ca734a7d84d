"""The records of an episode: settings, steps, cells, feedback and ending."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from planbook.envs import Action, Observation, Verdict
from planbook.planner.rendered import Text
from planbook.sandbox import Fault, Limits


class FeedbackKind(StrEnum):
    """The kind of a cell's result. It includes the values of ``FaultKind``."""

    DONE = "done"
    """The environment's episode is over."""
    UNFINISHED = "unfinished"
    """The cell ended without an error; the task is not done."""
    PARSE = "parse"
    """No usable reply."""
    CHECK = "check"
    """The plan, or the rest of it, was refused before it ran."""
    RAISED = "raised"
    """The plan raised an exception."""
    LIMIT = "limit"
    """A limit of the sandbox stopped it, or one of the episode's limits ended the episode."""


ERROR_KINDS = frozenset({FeedbackKind.PARSE, FeedbackKind.CHECK, FeedbackKind.RAISED, FeedbackKind.LIMIT})
"""The kinds of feedback that count as an error of the plan."""


class Outcome(StrEnum):
    """The outcome of an episode. Rates count every outcome in the denominator."""

    DIRECT_SUCCESS = "direct_success"
    """Solved, and no cell ended in an error."""
    INDIRECT_SUCCESS = "indirect_success"
    """Solved after at least one error."""
    FAILURE = "failure"
    OUT_OF_BUDGET = "out_of_budget"
    """The episode's actions were used up."""
    BROKEN = "broken"
    """The engine or the environment failed, not the plan."""
    NOT_RUN = "not_run"
    """The run ended first."""

    @property
    def played(self) -> bool:
        """True if the episode counts for its method: it was neither broken nor left out."""
        return self not in (Outcome.BROKEN, Outcome.NOT_RUN)

    @property
    def solved(self) -> bool:
        """True if the task was solved."""
        return self in (Outcome.DIRECT_SUCCESS, Outcome.INDIRECT_SUCCESS)


class Record(BaseModel):
    """Base of the records in a journal."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Step(Record):
    """One action. ``cell`` is the number of its cell in the scope, from 0; ``line`` is the plan line that called it."""

    order: int | None = Field(default=None, ge=0, exclude_if=lambda order: order is None)
    """Its moment in the episode, if read back from the journal."""
    scope: str
    cell: int
    line: int | None
    action: Action
    observation: Observation
    counted: bool = True
    """False only in older runs, for actions that did not count towards the limit."""
    printed: str = ""
    """The plan's output since the step before."""
    undone: bool = False
    """True if a later rewind undid it; the step still counts."""


class Feedback(Record):
    """The result of a cell, for the planner. ``line`` is the plan line of the first fault."""

    wording_fields: ClassVar = frozenset({"text"})
    """Left out of the digest, since the steps and the other fields hold the data of the text."""

    kind: FeedbackKind
    text: Text
    line: int | None = None
    faults: tuple[Fault, ...] = ()
    output: str = ""

    @property
    def is_error(self) -> bool:
        """True if the cell ended in an error. A plan that merely stopped early did not."""
        return self.kind in ERROR_KINDS


class Thought(Record):
    """The text before a planner's code. ``text`` is all of it; the other fields are its segments.

    ``rule_ids`` are the rules that the planner says it considered.
    """

    text: str = ""
    understanding: str = ""
    mistakes: str = ""
    rules: str = ""
    rule_ids: tuple[str, ...] = ()
    plan: str = ""


class Plan(Record):
    """A planner's reply: thought and code."""

    thought: Thought
    code: str


class Cell(Record):
    """One execution of plan code. ``source`` is the origin of the code: a role, a procedure, a file."""

    order: int | None = Field(default=None, ge=0, exclude_if=lambda order: order is None)
    """The moment of its end, after its steps, if read back from the journal."""
    scope: str
    number: int
    source: str
    code: str
    thought: Thought = Thought()
    feedback: Feedback


class Ending(Record):
    """The ending of an episode. ``cause`` is empty for a success, else the name of its row in the table of failures."""

    outcome: Outcome
    cause: str = ""
    message: str = ""
    verdict: Verdict = Verdict(False, 0.0)
    actions: int = 0
    error_steps: int = 0
    """Number of cells that ended in an error (AutoManual, table 3), and of whole plans that left the task undone."""
    milestones: tuple[str, ...] = Field(default=(), exclude_if=lambda reached: not reached)
    """Milestones reached, if the environment has any."""
    measures: Mapping[str, float] = Field(default={}, exclude_if=lambda measured: not measured)
    """Further measures of the environment."""


@dataclass(frozen=True)
class EpisodeSettings:
    """The limits, the seed and the modes of an episode. ``actions`` is the limit over all rounds."""

    actions: int
    limits: Limits = field(default_factory=Limits)
    seed: str = "0"
    stream: bool = False
    """Run plans while the model is still writing them."""
    dry_run: bool = False
    """Refuse a plan before its first action if the dry run finds actions that cannot succeed.

    A plan that runs while it is written is refused only from the statement of such an action on.
    """
