"""What the page of an episode is made of: one class for each thing that can happen in a scope."""

from collections import Counter
from dataclasses import dataclass, field
from typing import Any, ClassVar

from planbook.envs import Task
from planbook.planner import Cell, Ending, FeedbackKind, Step
from planbook.planner.action_docs import call_of
from planbook.planner.strategies.deps.pursuit import GoalTried as Goal
from planbook.planner.thought import as_plan


@dataclass
class Took:
    """One action, numbered from 1 within its episode; ``undone`` where a later rewind took it back."""

    step: Step
    number: int
    anchor: str
    undone: bool = False

    @property
    def call(self) -> str:
        """As a plan writes it."""
        return call_of(self.step.action)


@dataclass
class Said:
    """A message of a prompt. ``before`` is the anchor of the place where it stands in full, or empty."""

    role: str
    content: str
    anchor: str
    before: str


@dataclass
class Asked:
    """One prompt and its reply, as the journal's ``ask`` row holds them."""

    kind: ClassVar[str] = "asked"
    anchor: str
    row: Any
    messages: list[Said]


@dataclass
class Ran:
    """A run of plan code; ``cell`` is None where the record ends before the cell did.

    ``reply`` is what a model had replied last when the cell began, or empty.
    """

    kind: ClassVar[str] = "ran"
    number: int
    anchor: str
    steps: list[Took] = field(default_factory=list)
    cell: Cell | None = None
    reply: str = ""

    @property
    def code(self) -> str:
        """The plan; of a cell without an end, what the reply before it said to run, or nothing."""
        if self.cell is not None:
            return self.cell.code
        try:
            return as_plan(self.reply).code
        except ValueError:
            return ""

    @property
    def steps_by_line(self) -> dict[int | None, int]:
        """How many steps each plan line took."""
        return Counter(took.step.line for took in self.steps)

    @property
    def last_line(self) -> int | None:
        """The plan line of the last step, where the cell came to an end there: it did not run to its own."""
        ran_through = self.cell is not None and self.cell.feedback.kind is FeedbackKind.UNFINISHED
        return None if ran_through or not self.steps else self.steps[-1].step.line

    @property
    def faulty_lines(self) -> set[int | None]:
        """The plan lines that the feedback names."""
        return {fault.line for fault in self.cell.feedback.faults} | {self.cell.feedback.line} if self.cell else set()

    @property
    def printed_last(self) -> str:
        """What the plan printed after its last step; what it printed before stands with the steps."""
        return self.cell.feedback.output[sum(len(took.step.printed) for took in self.steps) :] if self.cell else ""


@dataclass
class Began:
    """A reset of the world, and what was to be seen."""

    kind: ClassVar[str] = "began"
    task: Task
    observation: str


@dataclass
class Rewound:
    """The world was taken back to where ``steps`` actions of the round had been taken."""

    kind: ClassVar[str] = "rewound"
    steps: int


@dataclass
class Ended:
    """The ending that was written."""

    kind: ClassVar[str] = "ended"
    ending: Ending


@dataclass
class Noted:
    """Anything else that was recorded: its parts, by name, as text."""

    kind: ClassVar[str] = "noted"
    what: str
    number: int
    parts: dict[str, str]


@dataclass
class Tried:
    """A goal of a plan that was tried."""

    kind: ClassVar[str] = "tried"
    goal: Goal
