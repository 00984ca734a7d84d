"""The words of a world: tasks, actions and what they are made of, observations, verdicts."""

import inspect
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Self

from pydantic import BaseModel, ConfigDict, Field, JsonValue


class Task(BaseModel):
    """One thing to achieve in a world. ``id`` alone identifies it; ``params`` is what the goal says, parsed."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    id: str
    env: str
    split: str
    type: str
    goal: str
    params: dict[str, JsonValue] = Field(default_factory=dict)
    seed: int = 0


class EnvironmentOptions(BaseModel):
    """Base of the options of an environment."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    @classmethod
    def read(cls, options: BaseModel | None) -> Self:
        """Return options given by a caller as this class; the default ones for None."""
        return options if isinstance(options, cls) else cls.model_validate(options.model_dump() if options else {})


class NoOptions(EnvironmentOptions):
    """The options of an environment that has none."""


class Selection(BaseModel):
    """Which tasks of a world: the command line's one selector.

    ``limit`` is the number of tasks over all types (None: every one), taken in turn from each type. ``seeds`` counts
    for worlds whose tasks are made from a type and a seed. ``ids``, if given, overrides all else.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    split: str | None = None
    limit: int | None = Field(default=None, ge=1)
    types: tuple[str, ...] = ()
    seeds: tuple[int, ...] = ()
    ids: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Action:
    """One call on the world, arguments by position."""

    name: str
    args: tuple[JsonValue, ...] = ()

    def __str__(self) -> str:
        return f"{self.name}({', '.join(map(repr, self.args))})"


@dataclass(frozen=True, slots=True)
class Observation:
    """What came back: the plan receives ``text`` only.

    ``accepted`` says whether the action took effect, ``terminated`` that the world's own episode ended with it,
    ``truncated`` that the world cut the episode short (a time or step limit of the world itself), ``lasting`` that the
    action changed what ``restore`` does not bring back (what a web server has stored).
    """

    text: str
    accepted: bool = True
    terminated: bool = False
    truncated: bool = False
    lasting: bool = False

    @classmethod
    def refused(cls, reason: object) -> Self:
        """Return the observation of an action that changes nothing, for this reason."""
        return cls(f"Nothing happens: {reason}.", accepted=False)


@dataclass(frozen=True, slots=True)
class Verdict:
    """The world's own judgement, for the host only; ``score`` lies between 0 and 1."""

    solved: bool
    score: float


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
        """The action that this call means; raises TypeError as a Python call would."""
        bound = self.signature.bind(*args, **kwargs)
        bound.apply_defaults()
        return Action(self.name, tuple(bound.arguments.values()))


class Offered(NamedTuple):
    """What a world's plans may call, by name."""

    actions: Mapping[str, ActionSpec]
    queries: Mapping[str, ActionSpec]

    def only(self, names: Collection[str]) -> "Offered":
        """These actions, and no queries."""
        return Offered({name: spec for name, spec in self.actions.items() if name in names}, {})


@dataclass(frozen=True, slots=True)
class Requirement:
    """Something a world needs from the machine: what was found, or how to get it."""

    name: str
    found: str | None
    remedy: str


@dataclass(frozen=True, slots=True)
class Snapshot:
    """A state to come back to: the actions that led there, and the world's own copy where it has a cheap one."""

    task: Task
    history: tuple[tuple[Action, Observation], ...]
    last: Observation
    native: object = None
