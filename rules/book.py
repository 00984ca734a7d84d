"""The rule book, and the edits that change it.

All edits in one reply of a model form a batch. A ``RuleChange`` records what an accepted batch changes in the book.
"""

from collections.abc import Iterable
from typing import Annotated, Literal, Self

from pydantic import Field

from planbook.rules.permissions import Case
from planbook.rules.types import Learned, Rule, citations, rule_id, rule_number


class RulesError(Exception):
    """Base class of this package's exceptions."""


class UnknownRule(RulesError):
    """There is no rule with the requested id in the rule book, perhaps because it was deleted.

    The message lists the ids of the current rules.
    """


class BadHistory(RulesError):
    """A change was made for a different book, an entry or state is unknown, or an undo would change nothing."""


class RuleBook(Learned):
    """The current rules, in the order of their numbers.

    ``next_number`` is greater than every number ever assigned, including those of deleted rules.
    """

    active: tuple[Rule, ...] = ()
    next_number: int = 0

    @classmethod
    def from_rules(cls, initial: Iterable[Rule]) -> Self:
        """Return a new book with these rules. Raises ValueError if an id is invalid or repeated."""
        rules = sorted(initial, key=lambda rule: rule_number(rule.id))
        numbers = [rule_number(rule.id) for rule in rules]
        if repeated := sorted({number for number in numbers if numbers.count(number) > 1}):
            raise ValueError(f"several rules have the same id: {', '.join(map(rule_id, repeated))}")
        return cls(active=tuple(rules), next_number=max(numbers, default=-1) + 1)

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the current rules."""
        return tuple(rule.id for rule in self.active)

    def rule(self, id: str) -> Rule:
        """Return the rule with this id. Raises UnknownRule if there is none."""
        for rule in self.active:
            if rule.id == id:
                return rule
        raise UnknownRule(self.unknown_reason(id))

    def was_assigned(self, id: str) -> bool:
        """Return True if the id was ever assigned to a rule, even if that rule was then refused or deleted."""
        try:
            return rule_number(id) < self.next_number
        except ValueError:
            return False

    def unknown_reason(self, id: str) -> str:
        """Return a message that explains why no rule has this id."""
        reason = f"{id} was deleted, undone or refused" if self.was_assigned(id) else f"there is no {id}"
        return f"{reason}; the rules are {', '.join(self.ids)}" if self.active else f"{reason}; the book is empty"

    def cited_by(self, id: str) -> tuple[str, ...]:
        """Return the ids of the other rules that cite this one."""
        return tuple(rule.id for rule in self.active if rule.id != id and id in cited_ids(rule))


def cited_ids(rule: Rule) -> tuple[str, ...]:
    """Return the ids of the rules that a rule cites: those that its content or example names, or that it builds on.

    The rule's log is ignored.
    """
    return tuple(dict.fromkeys((*citations(f"{rule.content}\n{rule.example}"), *rule.builds_on)))


def rule_text(rule: Rule) -> str:
    """Return a rule with all its attributes as plain text, for people and for diffs."""
    lines = [rule.id + (f" ({rule.type})" if rule.type else ""), *_block("", rule.content)]
    if rule.example:
        lines += ["  example:", *_block("  ", rule.example)]
    if rule.check:
        lines += ["  check:", *_block("  ", rule.check)]
    if rule.builds_on:
        lines.append(f"  builds on: {', '.join(rule.builds_on)}")
    lines += [f"  log: {entry}" for entry in rule.log]
    return "\n".join(lines) + "\n"


def _block(indent: str, text: str) -> list[str]:
    return [f"{indent}  {line}".rstrip() for line in text.split("\n")]


class WriteRule(Learned):
    """An edit that adds a rule. The rule gets its id when the edit is added to a batch.

    ``log`` becomes the first entry of the rule's validation log.
    """

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
    """An edit that changes attributes of a rule. An attribute that is None here keeps its old value.

    ``log`` is appended to the rule's validation log.
    """

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
        """True if the edit changes no attribute of the rule except its log."""
        return (self.content, self.type, self.example, self.builds_on, self.check) == (None,) * 5

    def __str__(self) -> str:
        return f"update_rule {self.id}"


class DeleteRule(Learned):
    """An edit that deletes a rule. The rule's id is never given to another rule."""

    kind: Literal["delete"] = "delete"
    id: str

    def __str__(self) -> str:
        return f"delete_rule {self.id}"


Edit = Annotated[WriteRule | UpdateRule | DeleteRule, Field(discriminator="kind")]
"""One edit of the rules: an added, changed or deleted rule."""
Author = Literal["builder", "consolidator", "user"]
"""The author of an edit: the model that builds rules, the model that consolidates them, or a person."""


class Batch(Learned):
    """Edits that are applied together or not at all.

    ``who`` is the author of the edits, and ``where`` the scope (the path of a part of the run) in which the author
    wrote them. ``case`` is the kind of episode after which the Builder wrote them, if the kind was determined.
    """

    edits: tuple[Edit, ...]
    who: Author
    where: str
    case: Case | None = None


class ChangedRule(Learned):
    """A rule before and after a batch. ``before`` is None for a new rule, ``after`` is None for a deleted one."""

    id: str
    before: Rule | None
    after: Rule | None


class RuleChange(Learned):
    """The change that a batch makes to a book.

    ``assigned`` lists the ids of new rules in the order of the edits. ``touched`` lists the rules that are different
    after the batch.
    """

    batch: Batch
    assigned: tuple[str, ...]
    touched: tuple[ChangedRule, ...]
    next_number: int
    """The book's next number after the change."""

    def apply_to(self, book: RuleBook) -> RuleBook:
        """Return the book after the change. Raises BadHistory if the change was made for a different book."""
        if reused := [id for id in self.assigned if book.was_assigned(id)]:
            raise BadHistory(f"{self.batch.where}: already assigned before this change: {', '.join(reused)}")
        rules = {rule.id: rule for rule in book.active}
        for touched in self.touched:
            if rules.pop(touched.id, None) != touched.before:
                raise BadHistory(
                    f"{self.batch.where}: {touched.id} differs from the rule that this change was made for"
                )
            if touched.after is not None:
                rules[touched.id] = touched.after
        active = sorted(rules.values(), key=lambda rule: rule_number(rule.id))
        return RuleBook(active=tuple(active), next_number=max(self.next_number, book.next_number))
