"""Memory: the knowledge about tasks of one type, such as rules, helper functions and procedures.

An episode asks its memory once about its task. If a model then matches the goal with a task type, the episode asks
again, about tasks of that type.
"""

from collections.abc import Mapping
from typing import Protocol, Self

from pydantic import Field, JsonValue, model_validator

from planbook.envs import Task
from planbook.planner.journal import Payload
from planbook.planner.procedure_files import Procedure
from planbook.planner.types import Record, RenderedText, Text


class MatchCandidate(Record):
    """A task type to which a goal may belong, as shown to a model. planbook has derived the type from episodes."""

    name: str
    summary: str = ""
    params: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    """The goals of the type's examples."""
    had: dict[str, tuple[JsonValue, ...]] = {}
    """Maps each parameter to its values in the type's examples."""


class Match(Payload):
    """The task type to which a goal belongs, and the parameters of the type's procedure, as read from the goal.

    If the match is uncertain, ``candidates`` are the types most similar to the goal, the most similar first.
    """

    span = "match"
    bulky = frozenset({"candidates"})

    type: str = ""
    params: dict[str, JsonValue] = {}
    by: str = ""
    """How the type was found: by ``pattern``, ``words`` or ``model``."""
    candidates: tuple[MatchCandidate, ...] = ()
    failed: str = ""
    """The kind of the failure, if the type's procedure was run and failed. Otherwise empty."""

    @property
    def title(self) -> str:
        """The name of the type."""
        return self.type or "no type"

    @property
    def status(self) -> str:
        """``failed`` if the procedure failed, otherwise empty."""
        return self.failed and "failed"


class Recall(Record):
    """The knowledge that may help with a task."""

    text: Text = ""
    """Knowledge for the prompt."""
    data: str = Field(default="", exclude_if=lambda data: not data)
    """Digest of the data from which ``text`` was made, or empty if it is unknown."""
    example: str = ""
    """A solved task of the environment as an example for the model. It also shows the format of a reply."""
    helpers: str = ""
    """Plan code that is run before all other plan code. It defines the helper functions that other code may call."""
    rule_ids: tuple[str, ...] = ()
    procedure: Procedure | None = None
    """The procedure for tasks of this type, or None if there is none."""
    match: Match | None = Field(default=None, exclude_if=lambda match: match is None)
    """The type of the goal and the procedure's parameters. None if planbook has derived no task types from episodes."""
    check: str = Field(default="", exclude_if=lambda check: not check)
    """Plan code that raises an exception unless the post-conditions of the procedure hold."""
    demonstrations: Mapping[str, str] = {}
    """Maps the names of demonstrations to their texts. Methods show them in their prompts."""

    @model_validator(mode="after")
    def _keep_digest(self) -> Self:
        if isinstance(self.text, RenderedText):
            object.__setattr__(self, "data", self.text.data_digest)
        elif self.data:
            object.__setattr__(self, "text", RenderedText.with_digest(self.text, self.data))
        return self


class Memory(Protocol):
    """A store of knowledge. Packages that import this one implement it."""

    def recall(self, task: Task) -> Recall:
        """Return the knowledge about tasks like this one."""


class NoMemory:
    """An empty memory."""

    def recall(self, task: Task) -> Recall:
        """Return an empty recall."""
        return Recall()
