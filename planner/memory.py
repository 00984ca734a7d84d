"""Memory: what is known about tasks of one type, such as rules, helper functions and procedures.

An episode asks its memory once about its task, and once more if a model matches the goal with a task type.
"""

from collections.abc import Mapping
from typing import Protocol, Self

from pydantic import Field, JsonValue, model_validator

from planbook.envs import Task
from planbook.planner.procedure import Procedure
from planbook.planner.rendered import RenderedText, Text
from planbook.planner.spans import Payload
from planbook.planner.types import Record


class MatchCandidate(Record):
    """A task type that planbook found and that a goal may belong to, in the form that a model is shown."""

    name: str
    summary: str = ""
    params: tuple[str, ...] = ()
    goals: tuple[str, ...] = ()
    """The goals of the type's examples."""
    had: dict[str, tuple[JsonValue, ...]] = {}
    """Maps each parameter to its values in the type's examples."""


class Match(Payload):
    """The task type that a goal was found to belong to, and the parameters that the goal gives to its procedure.

    If the match is uncertain, ``candidates`` are the most similar types, beginning with the most similar one.
    """

    span = "match"
    bulky = frozenset({"candidates"})

    type: str = ""
    params: dict[str, JsonValue] = {}
    by: str = ""
    """How the type was found: by ``pattern``, ``words`` or ``model``."""
    candidates: tuple[MatchCandidate, ...] = ()
    failed: str = ""
    """The kind of failure, if the procedure was run and failed. Otherwise empty."""

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
    """Digest of the data that the text was made from, or empty if unknown."""
    example: str = ""
    """A solved task of the environment as an example. It also shows the format of a reply."""
    helpers: str = ""
    """Plan code that is run first. It defines helper functions for later plan code."""
    rule_ids: tuple[str, ...] = ()
    procedure: Procedure | None = None
    """Plan code that does tasks of this type without a model, if there is a procedure."""
    match: Match | None = Field(default=None, exclude_if=lambda match: match is None)
    """The type of the goal and the procedure's parameters. Set only if task types are learned from episodes."""
    check: str = Field(default="", exclude_if=lambda check: not check)
    """Plan code that raises an exception unless the post-conditions of the procedure hold."""
    demonstrations: Mapping[str, str] = {}
    """Maps the names of demonstrations to their texts. Methods show them in their prompts."""

    @model_validator(mode="after")
    def _keep_digest(self) -> Self:
        if isinstance(self.text, RenderedText):
            object.__setattr__(self, "data", self.text.data_digest)
        elif self.data:
            object.__setattr__(self, "text", RenderedText.known(self.text, self.data))
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
