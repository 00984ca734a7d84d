"""The exceptions of the rules package.

RulesError
├── UnknownRule   the book has no rule with that id, or no longer has it
├── BatchRefused  a batch of edits with faults: none of it is applied
└── BadHistory    a change log that does not fit its book, an unknown entry or state, or an undo without effect
"""

from collections.abc import Sequence
from dataclasses import dataclass


class RulesError(Exception):
    """Base class of this package's exceptions."""


class UnknownRule(RulesError):
    """The book has no such rule, or no longer has it. The message lists the rules that it has."""


class BadHistory(RulesError):
    """A change log that does not fit its book, an unknown entry or state, or an undo without effect."""


@dataclass(frozen=True, slots=True)
class EditFault:
    """One fault of one edit of a batch; edits count from 1."""

    number: int
    edit: str
    message: str

    def __str__(self) -> str:
        return f"edit {self.number}, {self.edit}: {self.message}"


class BatchRefused(RulesError):
    """A batch with faults: none of it is applied. The message lists them for the model that has to rewrite it."""

    def __init__(self, faults: Sequence[EditFault]) -> None:
        self.faults = tuple(faults)
        super().__init__("Nothing was applied:\n" + "\n".join(f"- {fault}" for fault in faults))
