"""An example of a rule book, with four rules, and functions that change a book."""

from planbook.rules import Rule, RuleBook, RuleType
from planbook.rules.book import Batch, Edit, RuleChange, WriteRule
from planbook.rules.edit_batch import Draft
from planbook.rules.permissions import ALL, Permissions

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
USER = Permissions(situation="By hand", writes=ALL, updates=ALL, deletes=ALL, changes_to=ALL, changes_from=ALL)
"""Permits every edit."""


def apply(book: RuleBook, batch: Batch, permissions: Permissions) -> RuleChange:
    """Return the change that a batch of edits makes to a book.

    Raises BatchRefused, with every fault of the batch, if an edit is not valid or not permitted.
    """
    draft = Draft(book, permissions)
    for edit in batch.edits:
        draft.add(edit)
    return draft.change(batch)


def batch(*edits: Edit) -> Batch:
    """Return a batch of edits by the Builder."""
    return Batch(edits=edits, who="builder", where="task/17/builder/0")


def changed(book: RuleBook, *edits: Edit, permissions: Permissions = USER) -> RuleBook:
    """Return the book after these edits."""
    return apply(book, batch(*edits), permissions).apply_to(book)


def note(content: str, type: RuleType = RuleType.SPECIAL_PHENOMENON) -> WriteRule:
    """Return an edit that writes a rule with this content."""
    return WriteRule(content=content, type=type)
