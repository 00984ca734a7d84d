"""Memory: how a planner gets at rules, skills and procedures, with one query for each task."""

from collections.abc import Mapping
from typing import Protocol, Self

from pydantic import Field, JsonValue, model_validator

from planbook.envs import Task
from planbook.planner.procedure import Procedure
from planbook.planner.rendered import Rendered, Text
from planbook.planner.spans import Payload
from planbook.planner.types import Record


class MatchCandidate(Record):
    """A found task type that a goal may be of, as shown to a model."""

    name: str
    summary: str = ""
    params: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    """Goals of its examples."""
    had: dict[str, tuple[JsonValue, ...]] = {}
    """What the parameters were in its examples."""


class Match(Payload):
    """The found task type of a goal, and the parameters that the goal gives to its procedure.

    Where something is not certain, ``candidates`` are the types that come closest, the closest first.
    """

    span = "match"
    bulky = frozenset({"candidates"})

    type: str = ""
    params: dict[str, JsonValue] = {}
    by: str = ""
    """What decided: ``pattern``, ``words`` or ``model``."""
    candidates: tuple[MatchCandidate, ...] = ()
    failed: str = ""
    """How the procedure failed; empty if it did not, or if none was run."""

    @property
    def title(self) -> str:
        """Return the type."""
        return self.type or "no type"

    @property
    def status(self) -> str:
        """Return how the procedure failed."""
        return self.failed and "failed"


class Recall(Record):
    """Knowledge that may help with a task."""

    text: Text = ""
    """Knowledge for the prompt."""
    data: str = Field(default="", exclude_if=lambda data: not data)
    """Digest of the data that the text was made from, where known."""
    example: str = ""
    """A solved task of the environment, which also shows the reply format."""
    helpers: str = ""
    """Plan code that is defined in the namespace first."""
    rule_ids: tuple[str, ...] = ()
    procedure: Procedure | None = None
    """Plan code with parameters that needs no model."""
    match: Match | None = Field(default=None, exclude_if=lambda match: match is None)
    """Where task types are found: the type of the goal, and the procedure's parameters."""
    check: str = Field(default="", exclude_if=lambda check: not check)
    """Plan code that raises unless what held after the procedure's examples holds now."""
    demonstrations: Mapping[str, str] = {}
    """Demonstrations of the environment for a method's prompts, by the names that the method asks for."""

    @model_validator(mode="after")
    def _knows_its_data(self) -> Self:
        if isinstance(self.text, Rendered):
            object.__setattr__(self, "data", self.text.data)
        elif self.data:
            object.__setattr__(self, "text", Rendered.known(self.text, self.data))
        return self


class Memory(Protocol):
    """A store of knowledge. Packages above the planner implement it."""

    def recall(self, task: Task) -> Recall:
        """Return what is known about tasks like this one."""


class NoMemory:
    """A memory that is empty."""

    def recall(self, task: Task) -> Recall:
        """Return an empty recall."""
        return Recall()
