"""Memory: the planner's access to rules, skills and procedures, by one query for each task."""

from collections.abc import Mapping
from typing import Protocol, Self

from pydantic import Field, JsonValue, model_validator

from planbook.envs import Task
from planbook.planner.procedure import Procedure
from planbook.planner.rendered import Rendered, Text
from planbook.planner.spans import Payload
from planbook.planner.types import Record


class MatchCandidate(Record):
    """A found task type that a goal may belong to, as shown to a model."""

    name: str
    summary: str = ""
    params: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    """Goals of its examples."""
    had: dict[str, tuple[JsonValue, ...]] = {}
    """Values of the parameters in its examples."""


class Match(Payload):
    """The found task type of a goal, and the parameters that the goal gives to its procedure.

    If the match is not certain, ``candidates`` are the most similar types, the most similar first.
    """

    span = "match"
    bulky = frozenset({"candidates"})

    type: str = ""
    params: dict[str, JsonValue] = {}
    by: str = ""
    """How it was matched: by ``pattern``, ``words`` or ``model``."""
    candidates: tuple[MatchCandidate, ...] = ()
    failed: str = ""
    """Kind of the failure of the procedure; empty if it did not fail or was not run."""

    @property
    def title(self) -> str:
        """The type."""
        return self.type or "no type"

    @property
    def status(self) -> str:
        """``failed`` if the procedure failed, else empty."""
        return self.failed and "failed"


class Recall(Record):
    """The knowledge that may help with a task."""

    text: Text = ""
    """Knowledge for the prompt."""
    data: str = Field(default="", exclude_if=lambda data: not data)
    """Digest of the data that the text was made from; empty if unknown."""
    example: str = ""
    """A solved task of the environment, which also shows the reply format."""
    helpers: str = ""
    """Plan code that is run first, to define helpers in the namespace."""
    rule_ids: tuple[str, ...] = ()
    procedure: Procedure | None = None
    """Plan code with parameters that needs no model."""
    match: Match | None = Field(default=None, exclude_if=lambda match: match is None)
    """Type of the goal and parameters of the procedure, if task types are found rather than given."""
    check: str = Field(default="", exclude_if=lambda check: not check)
    """Plan code that raises unless the post-conditions of the procedure hold."""
    demonstrations: Mapping[str, str] = {}
    """Demonstrations of the environment for the prompts of methods, by name."""

    @model_validator(mode="after")
    def _keep_digest(self) -> Self:
        if isinstance(self.text, Rendered):
            object.__setattr__(self, "data", self.text.data_digest)
        elif self.data:
            object.__setattr__(self, "text", Rendered.known(self.text, self.data))
        return self


class Memory(Protocol):
    """A store of knowledge. Packages above the planner implement it."""

    def recall(self, task: Task) -> Recall:
        """Return the knowledge about tasks like this one."""


class NoMemory:
    """An empty memory."""

    def recall(self, task: Task) -> Recall:
        """Return an empty recall."""
        return Recall()
