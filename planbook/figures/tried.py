"""What methods that search and prompt graphs record: plans, branches of what was tried, nodes that were evaluated."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, JsonValue

Fate = Literal["kept", "turned back", "failed", "over", "not tried", "abandoned"]
"""Of a branch: kept to the end; seen to be wrong; an error; the end of the episode; never needed; kept at first, and
left later, when something further on failed."""
NOT_TRIED: Fate = "not tried"


class Event(BaseModel):
    """Base of the bodies of such events."""

    model_config = ConfigDict(frozen=True)


class Planned(Event):
    """A plan as a list of sub-tasks; ``round`` counts from 0, ``why`` is what a review of the history said."""

    round: int
    parts: tuple[str, ...]
    revision: bool = False
    why: str = ""


class Branch(Event):
    """A node of what was tried: some code, in the state that its ``parent`` led to (None: the start of the round)."""

    round: int
    number: int
    parent: int | None = None
    subtask: str
    idea: int = 0
    """0 is the first idea, from 1 on the remedies that were thought of beforehand."""
    code: str
    cell: int | None = None
    """The number of the cell that ran it, in its frame."""
    mapped: str = ""
    """The code as it was run, where the page had changed."""
    fate: Fate
    why: str = ""
    history: str = ""
    """What it did, in a sentence."""
    actions: int = 0
    lasting: bool = False
    """Whether it changed what a rewind does not bring back."""
    value: float | None = None
    visits: int | None = None


class Node(Event):
    """A node of a prompt graph in one pass; ``stored`` has what was written to the database, by its path there."""

    node: str
    layer: int = 0
    number: int = 0
    """Of the pass."""
    skipped: bool = False
    """Whether the last answer stood in for a new one."""
    temporary: bool = False
    answer: JsonValue = None
    stored: dict[str, JsonValue] = Field(default_factory=dict)
    of: tuple[str, ...] = ()
    """The nodes whose answers it was given."""
