"""An example of a rule book, with four rules, and functions that change a book."""

from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from planbook.rules import Rule, RuleBook, RuleType
from planbook.rules.book import Batch, RuleChange
from planbook.rules.permissions import ALL_TYPES, Permissions
from planbook.rules.rule_system import RuleSystem

SUCCESS = Rule(
    id="rule_2",
    type=RuleType.SUCCESS_PROCESS,
    content="To put a thing on the table, find it with rule_1, take it, put it.",
    example="# [Step 1] find\nfind('key')",
    log=("Given by the user.",),
    builds_on=("rule_1",),
)
HELPER = Rule(
    id="rule_1",
    type=RuleType.USEFUL_HELPER_METHOD,
    content="To search boxes, use find.",
    example="def find(thing):\n    return agent.open('box_1')",
)
MECHANISM = Rule(id="rule_0", type=RuleType.SPECIAL_MECHANISM, content="A box must be opened before one sees into it.")
UNRESOLVED = Rule(id="rule_3", type=RuleType.UNRESOLVED_ERROR, content="Taking from box_9 failed.")
BOOK = RuleBook.from_rules((MECHANISM, HELPER, SUCCESS, UNRESOLVED))
USER = Permissions(
    situation="By hand",
    writes=ALL_TYPES,
    updates=ALL_TYPES,
    deletes=ALL_TYPES,
    changes_to=ALL_TYPES,
    changes_from=ALL_TYPES,
)
"""Permits every edit."""


BATCH = Batch(who="user", where="task/17")


@dataclass(frozen=True)
class Edit:
    """A call of a function of the rule system, such as ``update_rule``."""

    function: str
    arguments: dict[str, Any]

    def apply_to(self, system: RuleSystem) -> str:
        """Call the function. Return the id of the rule, or "" if the edit has faults."""
        with suppress(ValueError):
            return str(getattr(system, self.function)(**self.arguments))
        return ""


def write(content: str, type: str = "", **more: Any) -> Edit:
    """Return an edit that writes a rule."""
    return Edit("write_rule", {"content": content, "type": str(type), **more})


def note(content: str, type: RuleType = RuleType.SPECIAL_PHENOMENON, **more: Any) -> Edit:
    """Return an edit that writes a rule, by default about a phenomenon."""
    return write(content, type, **more)


def update(id: str, **attributes: Any) -> Edit:
    """Return an edit that updates a rule."""
    return Edit("update_rule", {"rule_id": id, **attributes})


def delete(id: str) -> Edit:
    """Return an edit that deletes a rule."""
    return Edit("delete_rule", {"rule_id": id})


def apply(book: RuleBook, *edits: Edit, permissions: Permissions = USER, batch: Batch = BATCH) -> RuleChange:
    """Return the change that a batch of edits makes to a book.

    Raises BatchRefused, with every fault of the batch, if an edit is not valid or not permitted.
    """
    system = RuleSystem(book, permissions, batch)
    for edit in edits:
        edit.apply_to(system)
    return system.change()


def changed(book: RuleBook, *edits: Edit, permissions: Permissions = USER) -> RuleBook:
    """Return the book after these edits."""
    return apply(book, *edits, permissions=permissions).apply_to(book)
