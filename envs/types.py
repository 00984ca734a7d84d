"""The data types of environments: tasks, selections, actions, observations, verdicts, snapshots."""

import inspect
from collections.abc import Callable, Collection, Mapping
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
    """Unique within the environment; usually TYPE/NUMBER."""
    env: str
    """The name of the environment."""
    split: str
    """The split that the task belongs to, such as ``train``."""
    type: str
    """The task type. Skills, procedures and results are kept by type."""
    goal: str
    """The goal as a sentence."""
    params: dict[str, JsonValue] = Field(default_factory=dict)
    """The parameters of the goal, for plans; JSON."""
    seed: int = 0
    """The seed that determines all randomness in the episode."""


class EnvironmentOptions(BaseModel):
    """Base of the options of an environment."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def read(cls, options: BaseModel | None) -> Self:
        """Return a caller's options as this class; None gives the defaults."""
        return options if isinstance(options, cls) else cls.model_validate(options.model_dump() if options else {})


class NoOptions(EnvironmentOptions):
    """The options of an environment that has none."""


class Selection(BaseModel):
    """A selection of an environment's tasks, as on the command line.

    ``limit`` is the maximum number of tasks (None: all), the first of the list. Most environments list tasks of each
    type in turn. ``seeds`` is for environments that make tasks from a type and a seed. ``ids``, if set, overrides all
    else.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    split: str | None = None
    limit: int | None = Field(default=None, ge=1)
    types: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Action:
    """One call of an action, with all arguments by position."""

    name: str
    """The name of the action, without ``agent.``."""
    args: tuple[JsonValue, ...] = ()
    """All arguments, including keyword arguments and defaults."""

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(repr, self.args))})"


@dataclass(frozen=True, slots=True)
class Observation:
    """The result of an action. Unless ``structured`` or ``failed``, the plan receives ``text``.

    ``accepted`` means that the action took effect, ``terminated`` that the environment's episode ended with it,
    ``truncated`` that the environment cut the episode short (at its limit of time or steps), ``lasting`` that the
    action changed something that ``restore`` does not bring back (what a web server has stored). ``structured`` means
    that the text is JSON, and that the plan receives its value; ``failed`` that the plan gets a RuntimeError with the
    text.
    """

    text: str
    accepted: bool = True
    terminated: bool = False
    truncated: bool = False
    lasting: bool = False
    structured: Annotated[bool, Field(exclude_if=lambda structured: not structured)] = False
    failed: Annotated[bool, Field(exclude_if=lambda failed: not failed)] = False

    @classmethod
    def refused(cls, reason: object) -> Self:
        """Return the observation of an action that changed nothing, with the reason."""
        return cls(f"Nothing happens: {str(reason).removesuffix('.')}.", accepted=False)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The environment's judgement. Plans never see it."""

    solved: bool
    """Whether the task is solved: what every table of results counts."""
    score: float
    """Partial credit from 0 to 1, reported with ``solved``."""
    fault: Annotated[str, Field(exclude=True)] = ""
    """The error that a judge raised, and where, if an error counts as not solved. It becomes the ending's message."""


@dataclass(frozen=True)
class ActionSpec:
    """Name, typed function, documentation and example of an action or a query."""

    name: str
    function: Callable[..., Any]
    doc: str
    example: str = ""

    @cached_property
    def signature(self) -> inspect.Signature:
        """The signature as the plan sees it, without ``self``."""
        full = inspect.signature(self.function, eval_str=True)
        return full.replace(parameters=list(full.parameters.values())[1:])

    def bind(self, *args: JsonValue, **kwargs: JsonValue) -> Action:
        """Return the action of this call. Raises TypeError as a Python call would."""
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return Action(self.name, tuple(bound.arguments.values()))


class Offered(NamedTuple):
    """The actions and queries that plans may call, by name."""

    actions: Mapping[str, ActionSpec]
    queries: Mapping[str, ActionSpec]

    def only(self, names: Collection[str]) -> "Offered":
        """Return the actions of these names, and no queries."""
        return Offered({name: spec for name, spec in self.actions.items() if name in names}, {})


@dataclass(frozen=True, slots=True)
class Requirement:
    """Something that an environment needs on the machine: what was found (None: nothing), and how to get it."""

    name: str
    found: str | None
    remedy: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A state to return to: the actions that led to it, and the environment's copy, if it can make a cheap one."""

    task: Task
    history: tuple[tuple[Action, Observation], ...]
    last: Observation
    native: object = None
