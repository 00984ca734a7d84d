"""The rule book, and its history: the initial rules, and all changes since then.

All edits in one reply of a model form a batch. A ``RuleChange`` records what an accepted batch changes in the book.
"""

import difflib
from collections.abc import Iterable
from typing import Annotated, Literal, Self

from pydantic import Field

from planbook.rules.permissions import Case
from planbook.rules.types import HOW_TO_TYPES, LearnedRecord, Rule, citations, rule_id, rule_number


class RulesError(Exception):
    """Base class of errors in a rule book, its history or its edits."""


class BadHistory(RulesError):
    """A change was made for a different book, an entry or state is unknown, or an undo would change nothing."""


class RuleBook(LearnedRecord):
    """The current rules, in the order of their numbers.

    ``next_number`` is greater than every number ever assigned, including those of deleted rules.
    """

    active: tuple[Rule, ...] = ()
    next_number: int = 0

    @classmethod
    def from_rules(cls, rules: Iterable[Rule], next_number: int = 0) -> Self:
        """Return a book of these rules, with a next number of at least ``next_number``.

        Raises ValueError if an id is invalid or repeated.
        """
        active = sorted(rules, key=lambda rule: rule_number(rule.id))
        numbers = [rule_number(rule.id) for rule in active]
        if repeated := sorted({number for number in numbers if numbers.count(number) > 1}):
            raise ValueError(f"several rules have the same id: {', '.join(map(rule_id, repeated))}")
        return cls(active=tuple(active), next_number=max([next_number, *(number + 1 for number in numbers)]))

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the current rules."""
        return tuple(rule.id for rule in self.active)

    def rule(self, id: str) -> Rule:
        """Return the rule with this id. Raises RulesError if there is none."""
        for rule in self.active:
            if rule.id == id:
                return rule
        raise RulesError(self.missing_rule_message(id))

    def was_assigned(self, id: str) -> bool:
        """Return True if the id was ever assigned, even to a rule that was then refused or deleted."""
        try:
            return rule_number(id) < self.next_number
        except ValueError:
            return False

    def missing_rule_message(self, id: str) -> str:
        """Return a message that explains why no rule has this id."""
        reason = f"{id} was deleted, undone or refused" if self.was_assigned(id) else f"there is no {id}"
        return f"{reason}; the rules are {', '.join(self.ids)}" if self.active else f"{reason}; the book is empty"

    def cited_by(self, id: str) -> tuple[str, ...]:
        """Return the ids of the other rules that cite this one."""
        return tuple(rule.id for rule in self.active if rule.id != id and id in cited_ids(rule))


def cited_ids(rule: Rule) -> tuple[str, ...]:
    """Return the ids of the rules that a rule builds on, or names in its content or example. Its log is ignored."""
    return tuple(dict.fromkeys((*citations(f"{rule.content}\n{rule.example}"), *rule.builds_on)))


def rule_text(rule: Rule) -> str:
    """Return a rule with all its attributes as plain text, for people and for diffs."""
    lines = [rule.id + (f" ({rule.type})" if rule.type else ""), *_indented_lines(rule.content, "  ")]
    if rule.example:
        lines += ["  example:", *_indented_lines(rule.example, "    ")]
    if rule.check:
        lines += ["  check:", *_indented_lines(rule.check, "    ")]
    if rule.builds_on:
        lines.append(f"  builds on: {', '.join(rule.builds_on)}")
    lines += [f"  log: {entry}" for entry in rule.log]
    return "\n".join(lines) + "\n"


def _indented_lines(text: str, indent: str) -> list[str]:
    return [f"{indent}{line}".rstrip() for line in text.split("\n")]


Author = Literal["builder", "consolidator", "user"]
"""The author of an edit: the model that builds rules, the model that consolidates them, or a person."""


class Batch(LearnedRecord, extra="ignore"):
    """The origin of edits that are applied together or not at all.

    ``who`` is the author of the edits, and ``where`` the scope (the path of a part of the run) in which they were
    written. ``case`` is the kind of episode after which the Builder wrote them, if it was determined. The field
    ``edits`` of older runs is ignored: ``RuleChange.touched`` says what the edits changed.
    """

    who: Author
    where: str
    case: Case | None = None


class ChangedRule(LearnedRecord):
    """A rule before and after a batch. ``before`` is None for a new rule, ``after`` is None for a deleted one."""

    id: str
    before: Rule | None
    after: Rule | None


class RuleChange(LearnedRecord):
    """The change that a batch makes to a book.

    ``assigned`` lists the ids of new rules in the order of the edits. ``touched`` lists the rules that the batch
    changes.
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
        for changed in self.touched:
            if rules.pop(changed.id, None) != changed.before:
                raise BadHistory(
                    f"{self.batch.where}: {changed.id} differs from the rule that this change was made for"
                )
            if changed.after is not None:
                rules[changed.id] = changed.after
        return RuleBook.from_rules(rules.values(), max(self.next_number, book.next_number))


# The history of a rule book.


class BatchApplied(LearnedRecord):
    """A batch was applied."""

    kind: Literal["applied"] = "applied"
    change: RuleChange


class ChangesUndone(LearnedRecord):
    """An entry and all later entries were undone: the rules are as they were before that entry."""

    kind: Literal["undone"] = "undone"
    entry: int = Field(ge=1)
    who: str = "user"


Entry = Annotated[BatchApplied | ChangesUndone, Field(discriminator="kind")]
"""One entry of a history: a batch was applied, or changes were undone."""


def states(initial: RuleBook, entries: Iterable[Entry]) -> list[RuleBook]:
    """Return the initial book, followed by the book after each entry.

    An undo may remove rules, but their numbers are never reused. Raises BadHistory if an entry was made for a
    different book, or undoes an entry that does not come before it.
    """
    books = [initial]
    for entry in entries:
        if isinstance(entry, BatchApplied):
            books.append(entry.change.apply_to(books[-1]))
        elif entry.entry < len(books):
            active = books[entry.entry - 1].active
            books.append(RuleBook(active=active, next_number=books[-1].next_number))
        else:
            raise BadHistory(f"entry {len(books)} undoes entry {entry.entry}, which is not an earlier entry")
    return books


class History(LearnedRecord):
    """The initial rules, and all changes since then.

    Entries are numbered from 1. State N is the book after entry N, and state 0 is the initial book.
    """

    initial: RuleBook
    entries: tuple[Entry, ...] = ()

    @property
    def book(self) -> RuleBook:
        """The current rules. Raises BadHistory if the entries do not fit the initial book."""
        return states(self.initial, self.entries)[-1]

    @property
    def change_count(self) -> int:
        """The number of entries that changed the rules. The other entries are replies whose edits changed nothing."""
        return sum(isinstance(entry, ChangesUndone) or bool(entry.change.touched) for entry in self.entries)

    def record(self, change: RuleChange) -> "History":
        """Return the history with this change added. Raises BadHistory if it was made for a different book."""
        change.apply_to(self.book)
        return self.model_copy(update={"entries": (*self.entries, BatchApplied(change=change))})

    def undo(self, entry: int) -> "History":
        """Return the history with one more entry, which undoes entry number ``entry`` and all later ones.

        Since an undo is itself an entry, it can be undone, too. Raises BadHistory if there is no such entry, or if the
        undo would change nothing.
        """
        if not 1 <= entry <= len(self.entries):
            raise BadHistory(f"there is no change {entry} to undo; {self._describe_valid_numbers()}")
        before, current = self._states([entry - 1, len(self.entries)])
        if before.active == current.active:
            raise BadHistory(f"undoing change {entry} changes nothing: the rules are as they were before it")
        return self.model_copy(update={"entries": (*self.entries, ChangesUndone(entry=entry))})

    def diff(self, first: int, last: int) -> str:
        """Return unified diffs of the rules that differ between two states. Raises BadHistory for an unknown state."""
        before, after = self._states([first, last])
        old = {rule.id: rule_text(rule) for rule in before.active}
        new = {rule.id: rule_text(rule) for rule in after.active}
        ids = sorted({*old, *new}, key=rule_number)
        return "".join(_rule_diff(id, old.get(id, ""), new.get(id, ""), first, last) for id in ids)

    def log(self) -> list[str]:
        """Return one line of text for each entry."""
        return [f"{number:>4}  {_describe_entry(entry)}" for number, entry in enumerate(self.entries, start=1)]

    def _states(self, numbers: list[int]) -> list[RuleBook]:
        books = states(self.initial, self.entries)
        for number in numbers:
            if not 0 <= number < len(books):
                raise BadHistory(f"there is no state {number}; {self._describe_valid_numbers()}")
        return [books[number] for number in numbers]

    def _describe_valid_numbers(self) -> str:
        if not self.entries:
            return "nothing has been changed yet: there is only state 0, the initial rules"
        return f"the log has entries from 1 to {len(self.entries)}; state 0 is the initial rules"


def new_lesson_ids(history: History, since: int) -> set[str]:
    """Return the ids of the rules about the environment or errors that were added or reworded after state ``since``.

    A procedure written at that state does not take these rules into account.
    """
    books = states(history.initial, history.entries)
    before = {(rule.id, rule.content, rule.example) for rule in books[since].active}
    current = (rule for rule in books[-1].active if rule.type not in HOW_TO_TYPES)
    return {rule.id for rule in current if (rule.id, rule.content, rule.example) not in before}


def _rule_diff(id: str, old: str, new: str, first: int, last: int) -> str:
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), f"{id} at {first}", f"{id} at {last}", lineterm="")
    return "".join(f"{line}\n" for line in lines)


def _describe_entry(entry: BatchApplied | ChangesUndone) -> str:
    if isinstance(entry, ChangesUndone):
        return f"{entry.who}: went back to the rules before change {entry.entry}"
    batch = entry.change.batch
    where = " ".join(part for part in (batch.where, f"({batch.case})" if batch.case else "") if part)
    edits = ", ".join(map(_describe_changed_rule, entry.change.touched)) or "changed nothing"
    return f"{batch.who}{f' at {where}' if where else ''}: {edits}"


def _describe_changed_rule(changed: ChangedRule) -> str:
    if changed.before is None:
        type_note = f" ({changed.after.type})" if changed.after and changed.after.type else ""
        return f"wrote {changed.id}{type_note}"
    return f"deleted {changed.id}" if changed.after is None else f"updated {changed.id}"
