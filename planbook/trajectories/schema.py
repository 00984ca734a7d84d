"""The schema that episodes are exchanged in; `planbook export --schema` prints the JSON Schema of these models.

What is called a scope is where in the episode something happened: ``round/0``, or inside it the namespace of a nested
plan, such as ``round/0/plan/1/execute/0``.
"""

from typing import Literal

from pydantic import Field, JsonValue, model_validator

from planbook.envs import Action, Observation, Task
from planbook.planner import Ending, Feedback, Thought
from planbook.planner.procedure import Procedure
from planbook.trajectories.faults import faults_of
from planbook.trajectories.parts import (
    BranchTried,
    Call,
    GoalTried,
    Happened,
    NodeAnswered,
    Part,
    PlanMade,
    Scope,
    Somewhere,
    SubtaskGiven,
)

SCHEMA = "planbook.trajectory/1"
"""Of another number are files that this version cannot read."""


class RunFacts(Part):
    """The run that the episode comes from."""

    planner: str
    """The planning method."""
    config: dict[str, JsonValue] = {}
    """What the run was asked to do, the seed included, as its run.json has it; empty where that is not known."""
    begun: str = ""
    """When, as ISO 8601."""
    versions: dict[str, str] = {}
    """Of what was installed."""
    world: dict[str, str] = {}
    """What the world said that it was made of."""


class Told(Happened):
    """What the planner was told of the world beforehand."""

    text: str = ""
    """Rules, skills and reflections, or a manual, as they stood in its prompt."""
    example: str = ""
    """A task done well."""
    helpers: str = ""
    """Plan code that was defined beforehand."""
    rule_ids: tuple[str, ...] = ()
    """The rules that it was told."""
    procedure: Procedure | None = None
    """Stored plan code for tasks like this one."""
    demonstrations: dict[str, str] = {}
    data: str = Field(default="", exclude_if=lambda data: not data)
    """The digest of the data that the text was made from."""
    """What the method shows its models of the world, by the names that it has for that."""


class StepTaken(Happened):
    """One action."""

    line: int | None = None
    """The line of the cell's code that called it."""
    action: Action
    """Its name, and its arguments by position."""
    observation: Observation
    """What came back. ``accepted``: it took effect; ``terminated``: the world's episode ended with it;
    ``truncated``: the world cut its episode short; ``lasting``: it changed what no rewind brings back."""
    counted: bool = True
    """Whether it counts as one of the episode's actions."""
    printed: str = ""
    """What the plan printed since the step before."""
    undone: bool = False
    """A later rewind took it back; it still counts."""


class CellRun(Part):
    """One run of plan code, and the actions that it took."""

    order: int | None = Field(default=None, ge=0)
    """The moment at which it ended, after its steps; None for one that came to no end."""
    scope: Scope
    """The namespace that it ran in."""
    number: int = Field(ge=0)
    """Among the cells of that namespace, from 0."""
    source: str = ""
    """Where the code came from: the role of a model, a procedure, a file."""
    code: str = ""
    thought: Thought = Thought()
    """What was said with it: ``text`` is all of it, the others its parts; ``rule_ids`` the rules it says it used."""
    feedback: Feedback | None = None
    """What the planner was told of it; None for a cell that came to no end."""
    steps: tuple[StepTaken, ...] = ()


class Rewind(Somewhere):
    """World and namespace were taken back to an earlier moment of the round."""

    kept: int = Field(ge=0)
    """So many of the round's steps stand, counted from its beginning; those after them up to here are undone."""


class RoundPlayed(Happened):
    """What happened between two resets of the world; ``order`` is the moment of the reset."""

    number: int = Field(ge=0)
    """From 0, one after the other."""
    observation: Observation
    """The first one."""
    task: Task | None = Field(default=None, exclude_if=lambda task: task is None)
    """Only where the world told another task than in the first round."""
    cells: tuple[CellRun, ...] = ()
    rewinds: tuple[Rewind, ...] = ()


class Trajectory(Part):
    """One episode: a task, all that was done for it, and how it ended."""

    schema_version: Literal["planbook.trajectory/1"] = Field(alias="schema")
    task: Task
    """``id`` alone identifies it in its world; ``params`` is what the goal says, parsed."""
    repeat: int = Field(default=0, ge=0)
    """Of the task in its run, from 0."""
    run: RunFacts
    told: Told | None = None
    rounds: tuple[RoundPlayed, ...] = ()
    subtasks: tuple[SubtaskGiven, ...] = ()
    goals: tuple[GoalTried, ...] = ()
    plans: tuple[PlanMade, ...] = ()
    branches: tuple[BranchTried, ...] = ()
    nodes: tuple[NodeAnswered, ...] = ()
    calls: tuple[Call, ...] = ()
    ending: Ending
    """``outcome``, and for an episode that was not solved its ``cause``; ``verdict`` is the world's own judgement."""

    @model_validator(mode="after")
    def _holds_together(self) -> "Trajectory":
        if faults := list(faults_of(self)):
            raise ValueError("; ".join(faults))
        return self
