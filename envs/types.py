"""The data types that environments and planbook exchange, such as tasks, actions, observations and verdicts."""

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Annotated, Any, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue


class Task(BaseModel):
    """One thing to achieve in an environment.

    >>> Task(id="lamp/2", env="lights", split="train", type="only_one", goal="light lamp 2 alone").params
    {}
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    """The id of the task, unique within the environment. Most ids have the form TYPE/NUMBER."""
    env: str
    """The name of the environment."""
    split: str
    """The split that the task belongs to, such as ``train``."""
    type: str
    """The task type. planbook keeps skills, procedures and results for each type separately."""
    goal: str
    """The goal as a sentence."""
    params: dict[str, JsonValue] = Field(default_factory=dict)
    """The parts of the goal that differ between tasks of this type, as JSON. Plans read them by name."""
    seed: int = 0
    """The seed that determines all random choices in the episode."""


class EnvironmentOptions(BaseModel):
    """The base class of an environment's options."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def read(cls, options: BaseModel | None) -> Self:
        """Return ``options`` as an instance of this class, or the default options if ``options`` is None."""
        return options if isinstance(options, cls) else cls.model_validate(options.model_dump() if options else {})


class NoOptions(EnvironmentOptions):
    """The options of an environment that has no options."""


class Selection(BaseModel):
    """A selection of an environment's tasks by split, type, seed or id."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    split: str | None = None
    """The name of the split, or None for the environment's first split."""
    limit: int | None = Field(default=None, ge=1)
    """Number of tasks to take from the start of the list, or None for all. Most lists alternate between the types."""
    types: tuple[str, ...] = ()
    """The task types. Empty for all types."""
    seeds: tuple[int, ...] = ()
    """The seeds, for environments that make a task from a type and a seed."""
    ids: tuple[str, ...] = ()
    """The ids of the selected tasks. If any ids are given, types and seeds are ignored.

    If a split is given too, the tasks must be in this split.
    """


@dataclass(frozen=True, slots=True)
class Action:
    """One call of an action."""

    name: str
    """The name of the action, without ``agent.``."""
    args: tuple[JsonValue, ...] = ()
    """All arguments in the order of the parameters, including those that were passed by keyword or have defaults."""

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(repr, self.args))})"


@dataclass(frozen=True, slots=True)
class Observation:
    """The result of an action."""

    text: str
    """The text that the plan receives as the result of its call, unless ``structured`` or ``failed`` is True."""
    accepted: bool = True
    """True if the action took effect."""
    terminated: bool = False
    """True if the action ended the environment's episode."""
    truncated: bool = False
    """True if the environment ended the episode early because of a limit on time or steps."""
    lasting: bool = False
    """True if the action made a change that ``restore`` cannot undo, such as storing data on a web server."""
    structured: Annotated[bool, Field(exclude_if=lambda structured: not structured)] = False
    """True if the text is JSON. The plan then receives the parsed value instead of the text."""
    failed: Annotated[bool, Field(exclude_if=lambda failed: not failed)] = False
    """True if the call failed. In the plan, the call then raises a RuntimeError whose message is the text."""

    @classmethod
    def refused(cls, reason: object) -> Self:
        """Return the observation of an action that changed nothing. Its text gives the reason."""
        return cls(f"Nothing happens: {str(reason).removesuffix('.')}.", accepted=False)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The environment's judgement of a state. Plans never see it."""

    solved: bool
    """True if the task is solved. Tables of results count solved tasks."""
    score: float
    """Partial credit, from 0 to 1."""
    fault: Annotated[str, Field(exclude=True)] = ""
    """The judge's error and its place, if the task counts as not solved because the judge failed. Otherwise "".

    The episode reports this error.
    """


@dataclass(frozen=True)
class ActionSpec:
    """The specification of an action or a query: its name, typed function, documentation and example."""

    name: str
    function: Callable[..., Any]
    doc: str
    example: str = ""

    @cached_property
    def signature(self) -> inspect.Signature:
        """The function's signature as plans see it, without ``self``."""
        full = inspect.signature(self.function, eval_str=True)
        return full.replace(parameters=list(full.parameters.values())[1:])

    def bind(self, *args: JsonValue, **kwargs: JsonValue) -> Action:
        """Return the action for a call with these arguments. Raises TypeError if they do not fit the signature."""
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return Action(self.name, tuple(bound.arguments.values()))


class Offer(NamedTuple):
    """The actions and queries that an environment offers to plans. Both fields map names to specifications."""

    actions: Mapping[str, ActionSpec]
    queries: Mapping[str, ActionSpec]


@dataclass(frozen=True, slots=True)
class Requirement:
    """Something that an environment needs on this machine, such as a package or a browser."""

    name: str
    found: str | None
    """The path at which it was found, such as a folder or a program, or None if it was not found."""
    remedy: str
    """How to get it, for example a command that installs it."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A saved state of an episode, which ``Environment.restore`` can restore."""

    task: Task
    history: tuple[tuple[Action, Observation], ...]
    """The actions that led to the state, with their observations."""
    last: Observation
    """The last observation before the snapshot."""
    saved_state: object = None
    """The environment's own copy of the state, or None if it cannot copy the state cheaply."""


class CheckReport(NamedTuple):
    """The result of ``planbook check-env``: a line for each mistake that was found, and how much was checked."""

    mistakes: tuple[str, ...]
    unchecked: Mapping[str, str]
    """Maps each split that could not be checked to the reason, for example that its data is not installed."""
    tasks: int
    """Number of tasks that were played."""
    actions: int
    """Number of random actions that were taken."""
    accepted: int
    """Number of these actions that the environment did not refuse."""
