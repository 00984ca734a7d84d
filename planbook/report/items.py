"""What the page of an episode is made of: one class for each thing that can happen in a scope."""

from dataclasses import dataclass, field
from typing import Any, ClassVar

from envs import Task
from planbook.deeds import Goal, Subtask
from planner import Cell, Ending, Step
from planner.surface import AGENT


@dataclass
class Took:
    """One action; ``undone`` where a later rewind took it back."""

    step: Step
    undone: bool = False

    @property
    def call(self) -> str:
        """As a plan writes it."""
        return f"{AGENT}.{self.step.action}"


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
    """A run of plan code; ``cell`` is None where the record ends before the cell did."""

    kind: ClassVar[str] = "ran"
    number: int
    steps: list[Took] = field(default_factory=list)
    cell: Cell | None = None

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
class Place:
    """A scope, with what happened in it in order; a scope below it stands where it began."""

    kind: ClassVar[str] = "place"
    path: str
    items: list["Item"] = field(default_factory=list)
    subtask: Subtask | None = None
    """What somebody was given to do there, where that was recorded."""

    @property
    def below(self) -> str:
        """The last two parts of the path: the scope's name and number."""
        return "/".join(self.path.split("/")[-2:])


@dataclass
class Branch:
    """A sub-task: what the executor did with it, and, where that was not enough, how the planner took it apart."""

    kind: ClassVar[str] = "branch"
    executor: Place | None
    planner: Place | None

    @property
    def subtask(self) -> Subtask:
        """As it was left: the planner has the last word."""
        last = self.planner or self.executor
        assert last is not None
        assert last.subtask is not None
        return last.subtask


@dataclass
class Tried:
    """A goal of a plan that was tried."""

    kind: ClassVar[str] = "tried"
    goal: Goal


Item = Took | Asked | Ran | Began | Rewound | Ended | Noted | Place | Branch | Tried
