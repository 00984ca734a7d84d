"""The exceptions of the rules package.

RulesError
├── UnknownRule   the rule book has no rule with this id, or no longer has it
├── BatchRefused  a batch of edits has faults, so none of its edits is applied
└── BadHistory    a change log does not fit its book, an entry or state is unknown, or an undo has no effect
"""

from collections.abc import Sequence
from dataclasses import dataclass


class RulesError(Exception):
    """Base class of this package's exceptions."""


class UnknownRule(RulesError):
    """The rule book has no such rule, or no longer has it. The message lists the rules that it has."""


class BadHistory(RulesError):
    """A change log does not fit its book, an entry or state is unknown, or an undo has no effect."""


@dataclass(frozen=True, slots=True)
class EditFault:
    """One fault of an edit in a batch. ``number`` is the edit's position in the batch, from 1."""

    number: int
    edit: str
    message: str

    def __str__(self) -> str:
        return f"edit {self.number}, {self.edit}: {self.message}"


class BatchRefused(RulesError):
    """A batch has faults, so none of its edits is applied. The message lists the faults for the model."""

    def __init__(self, faults: Sequence[EditFault]) -> None:
        self.faults = tuple(faults)
        super().__init__("Nothing was applied:\n" + "\n".join(f"- {fault}" for fault in faults))
