"""Edits of rules, batches of edits, and the change that a batch makes."""

from typing import Annotated, Literal

from pydantic import Field

from planbook.rules.book import RuleBook
from planbook.rules.cases import Case
from planbook.rules.errors import BadHistory
from planbook.rules.naming import rule_number
from planbook.rules.types import Learned, Rule


class WriteRule(Learned):
    """A new rule; its id is assigned when the batch is made. ``log`` is the first entry of its validation log."""

    kind: Literal["write"] = "write"
    content: str
    type: str = ""
    example: str = ""
    log: str = ""
    builds_on: tuple[str, ...] = ()
    check: str = Field(default="", exclude_if=lambda check: not check)

    def __str__(self) -> str:
        return "write_rule"


class UpdateRule(Learned):
    """New attributes for a rule; None leaves an attribute as it is. ``log`` is appended to the validation log."""

    kind: Literal["update"] = "update"
    id: str
    content: str | None = None
    type: str | None = None
    example: str | None = None
    log: str = ""
    builds_on: tuple[str, ...] | None = None
    check: str | None = Field(default=None, exclude_if=lambda check: check is None)

    @property
    def adds_log_only(self) -> bool:
        """Return whether only the log is given."""
        return (self.content, self.type, self.example, self.builds_on, self.check) == (None,) * 5

    def __str__(self) -> str:
        return f"update_rule {self.id}"


class DeleteRule(Learned):
    """The deletion of a rule. Its id is not used again."""

    kind: Literal["delete"] = "delete"
    id: str

    def __str__(self) -> str:
        return f"delete_rule {self.id}"


Edit = Annotated[WriteRule | UpdateRule | DeleteRule, Field(discriminator="kind")]
"""One change of the rules: a new rule, new attributes, or a deletion."""
Author = Literal["builder", "consolidator", "user"]
"""Who edited the rules: one of the two models, or a person with `planbook rules`."""


class Batch(Learned):
    """Edits that are applied together or not at all. ``where`` is the scope that they come from."""

    edits: tuple[Edit, ...]
    who: Author
    where: str
    case: Case | None = None


class Touched(Learned):
    """A rule that a batch wrote (no state before), updated, or deleted (no state after)."""

    id: str
    before: Rule | None
    after: Rule | None


class RuleChange(Learned):
    """The change that a batch makes to a book. ``assigned`` lists the ids of new rules in the order of the edits."""

    batch: Batch
    assigned: tuple[str, ...]
    touched: tuple[Touched, ...]
    next_number: int
    """The book's next number after the change."""

    def on(self, book: RuleBook) -> RuleBook:
        """Return the book with the change. Raises BadHistory for a book that the change was not made for."""
        if again := [id for id in self.assigned if book.was_given(id)]:
            raise BadHistory(f"{self.batch.where}: {', '.join(again)} was given to a rule before this change")
        rules = {rule.id: rule for rule in book.active}
        for touched in self.touched:
            if rules.pop(touched.id, None) != touched.before:
                raise BadHistory(f"{self.batch.where}: {touched.id} is not what it was when this change was made")
            if touched.after is not None:
                rules[touched.id] = touched.after
        active = sorted(rules.values(), key=lambda rule: rule_number(rule.id))
        return RuleBook(active=tuple(active), next_number=max(self.next_number, book.next_number))
