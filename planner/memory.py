"""How knowledge reaches a planner: one question asked of whatever keeps rules, skills and procedures."""

from collections.abc import Mapping
from typing import Protocol, Self

from pydantic import Field, model_validator

from planbook.envs import Task
from planbook.planner.procedure import Procedure
from planbook.planner.rendered import Rendered, Text
from planbook.planner.types import Record


class Recall(Record):
    """What is known that may help with a task."""

    text: Text = ""
    """Goes into the prompt."""
    data: str = Field(default="", exclude_if=lambda data: not data)
    """The digest of the data that the text was made from, where that is known."""
    example: str = ""
    """A task of the world done well, which also shows the form of a reply."""
    helpers: str = ""
    """Plan code defined in the namespace beforehand."""
    rule_ids: tuple[str, ...] = ()
    procedure: Procedure | None = None
    """Plan code with parameters that needs no model."""
    demonstrations: Mapping[str, str] = {}
    """What a method shows its models of the world, by the names that the method asks for."""

    @model_validator(mode="after")
    def _knows_its_data(self) -> Self:
        if isinstance(self.text, Rendered):
            object.__setattr__(self, "data", self.text.data)
        elif self.data:
            object.__setattr__(self, "text", Rendered.known(self.text, self.data))
        return self


class Memory(Protocol):
    """Implemented by the packages above; the planner knows no other way to them."""

    def recall(self, task: Task) -> Recall:
        """What is known about tasks like this one."""


class NoMemory:
    """Knows nothing."""

    def recall(self, task: Task) -> Recall:
        """An empty recall."""
        return Recall()
