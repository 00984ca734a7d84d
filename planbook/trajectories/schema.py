"""The schema that episodes are exchanged in. Its JSON Schema is generated from these models: `planbook export --schema`.

What is called a scope is where in the episode something happened: ``round/0``, or inside it the namespace of a nested
plan, such as ``round/0/plan/1/execute/0``.
"""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue, model_validator

from envs import Action, Observation, Task
from planbook.figures.tried import Fate
from planbook.trajectories.faults import faults_of
from planner import Ending, Feedback, Thought
from planner.models import Message, Reply, Sampling
from planner.procedure import Procedure

SCHEMA = "planbook.trajectory/1"
"""Of another number are files that this version cannot read."""
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
    """What the method shows its models of the world, by the names that it has for that."""


class StepTaken(Happened):
    """One action."""

    line: int | None = None
    """The line of the cell's code that called it."""
    action: Action
    """Its name, and its arguments by position."""
    observation: Observation
    """What came back. ``accepted``: it took effect; ``terminated``: the world's episode ended with it; ``truncated``: the
    world cut its episode short; ``lasting``: it changed what no rewind brings back."""
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
    """What was said with it: ``text`` is all of it, the others its parts; ``rule_ids`` the rules that it says it used."""
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
