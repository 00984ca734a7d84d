"""What an episode leaves behind: steps, cells, feedback and its ending."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import ClassVar

from pydantic import BaseModel, ConfigDict, Field

from planbook.envs import Action, Observation, Verdict
from planbook.planner.rendered import Text
from planbook.sandbox import Limits
from planbook.sandbox.types import Fault


class FeedbackKind(StrEnum):
    """How a cell ended."""

    DONE = "done"
    """The world's own episode is over."""
    UNFINISHED = "unfinished"
    """The cell ran to its end; the task is not done."""
    PARSE = "parse"
    """No usable reply."""
    CHECK = "check"
    """Refused before running."""
    RAISED = "raised"
    """The plan raised an exception."""
    LIMIT = "limit"
    """A limit ended it: of the sandbox, or the episode's actions."""


ERROR_KINDS = frozenset({FeedbackKind.PARSE, FeedbackKind.CHECK, FeedbackKind.RAISED, FeedbackKind.LIMIT})


class Outcome(StrEnum):
    """How an episode ended; every one of them is in the denominator."""

    DIRECT_SUCCESS = "direct_success"
    """Solved, and no cell ended in an error."""
    INDIRECT_SUCCESS = "indirect_success"
    """Solved after at least one error."""
    FAILURE = "failure"
    OUT_OF_BUDGET = "out_of_budget"
    """The episode's actions were used up."""
    BROKEN = "broken"
    """Our fault or the world's, not the plan's."""
    NOT_RUN = "not_run"
    """The run ended first."""

    @property
    def played(self) -> bool:
        """Whether the episode says anything of what played: it was neither broken nor left out."""
        return self not in (Outcome.BROKEN, Outcome.NOT_RUN)

    @property
    def solved(self) -> bool:
        """Whether the task was done."""
        return self in (Outcome.DIRECT_SUCCESS, Outcome.INDIRECT_SUCCESS)


class Record(BaseModel):
    """Base of what is written to a journal."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class Step(Record):
    """One action taken. ``cell`` numbers the cells of its scope from 0; ``line`` is the plan line that called it."""

    order: int | None = Field(default=None, ge=0, exclude_if=lambda order: order is None)
    """The moment of its episode, where it is read back."""
    scope: str
    cell: int
    line: int | None
    action: Action
    observation: Observation
    counted: bool = True
    printed: str = ""
    """What the plan printed since the step before."""
    undone: bool = False
    """A later rewind took it back; it still counts."""


class Feedback(Record):
    """What a cell gave, told to the planner. ``line`` is the plan line of the first fault."""

    worded: ClassVar = frozenset({"text"})
    """The steps and the other fields hold the data that the text was made from."""

    kind: FeedbackKind
    text: Text
    line: int | None = None
    faults: tuple[Fault, ...] = ()
    output: str = ""

    @property
    def is_error(self) -> bool:
        """Whether the cell ended in an error; a plan that merely stopped early did not."""
        return self.kind in ERROR_KINDS


class Thought(Record):
    """What a planner says before its code; ``text`` is all of it, the others its segments.

    ``rule_ids`` are the rules that it says it considered.
    """

    text: str = ""
    understanding: str = ""
    mistakes: str = ""
    rules: str = ""
    rule_ids: tuple[str, ...] = ()
    plan: str = ""


class Plan(Record):
    """What a planner replies: thought and code."""

    thought: Thought
    code: str


class Cell(Record):
    """One run of plan code. ``source`` names where the code came from: a model's reply, a procedure, a file."""

    order: int | None = Field(default=None, ge=0, exclude_if=lambda order: order is None)
    """The moment at which it ended, after its steps, where it is read back."""
    scope: str
    number: int
    source: str
    code: str
    thought: Thought = Thought()
    feedback: Feedback


class Ending(Record):
    """How an episode ended. ``cause`` is empty for a success, else what the table of failures counts it under."""

    outcome: Outcome
    cause: str = ""
    message: str = ""
    verdict: Verdict = Verdict(False, 0.0)
    actions: int = 0
    error_steps: int = 0
    """Cells that ended in an error (AutoManual, table 3), whole plans that wrongly ended as done among them."""
    milestones: tuple[str, ...] = Field(default=(), exclude_if=lambda reached: not reached)
    """What was reached on the way, where the world tells; left out of records where it is nothing."""
    measures: Mapping[str, float] = Field(default={}, exclude_if=lambda measured: not measured)
    """Further figures of the world's own, likewise."""


@dataclass(frozen=True)
class EpisodeSettings:
    """What an episode may use, its seed, and how it plays. ``actions`` are those of the world, over all rounds."""

    actions: int
    limits: Limits = field(default_factory=Limits)
    seed: str = "0"
    stream: bool = False
    """Whether plans run while the model still writes them."""
    dry_run: bool = False
    """Whether a plan is refused before its first action if the dry run finds actions that cannot succeed.

    What has begun to run while it was written is not dry-run.
    """
