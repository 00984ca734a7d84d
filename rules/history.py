"""The history of a rule book: the initial rules, and all changes since then."""

import difflib
from collections.abc import Iterable
from typing import Annotated, Literal

from pydantic import Field

from planbook.rules.book import BadHistory, ChangedRule, RuleBook, RuleChange, rule_text
from planbook.rules.types import HOW_TO_TYPES, Learned, rule_number


class Applied(Learned):
    """A batch was applied."""

    kind: Literal["applied"] = "applied"
    change: RuleChange


class Undone(Learned):
    """A log entry and all later entries were undone: the rules are as they were before that entry."""

    kind: Literal["undone"] = "undone"
    entry: int = Field(ge=1)
    who: str = "user"


Entry = Annotated[Applied | Undone, Field(discriminator="kind")]
"""One entry of the log of a rule book: a batch was applied, or changes were undone."""


def states(initial: RuleBook, entries: Iterable[Entry]) -> list[RuleBook]:
    """Return the initial book, followed by the book after each log entry.

    An undo removes rules, but their numbers are not given to new rules. Raises BadHistory if an entry was made for
    a different book, or undoes an entry that does not come before it.
    """
    books = [initial]
    for entry in entries:
        if isinstance(entry, Applied):
            books.append(entry.change.apply_to(books[-1]))
        elif entry.entry < len(books):
            active = books[entry.entry - 1].active
            books.append(RuleBook(active=active, next_number=books[-1].next_number))
        else:
            raise BadHistory(f"entry {len(books)} undoes entry {entry.entry}, which is not an earlier one")
    return books


class History(Learned):
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
    def changes(self) -> int:
        """Number of entries that changed the rules. The others are replies whose edits left every rule as it was."""
        return sum(isinstance(entry, Undone) or bool(entry.change.touched) for entry in self.entries)

    def record(self, change: RuleChange) -> "History":
        """Return the history with this change added. Raises BadHistory if it was made for a different book."""
        change.apply_to(self.book)
        return self.model_copy(update={"entries": (*self.entries, Applied(change=change))})

    def undo(self, entry: int) -> "History":
        """Return the history with one more entry, which undoes entry number ``entry`` and all later ones.

        An undo is an entry, so it can be undone as well. Raises BadHistory if there is no such entry, or if the undo
        would change nothing.
        """
        if not 1 <= entry <= len(self.entries):
            raise BadHistory(f"there is no change {entry} to undo; {self._valid_numbers()}")
        before, current = self._states([entry - 1, len(self.entries)])
        if before.active == current.active:
            raise BadHistory(f"undoing change {entry} changes nothing: the rules are as they were before it")
        return self.model_copy(update={"entries": (*self.entries, Undone(entry=entry))})

    def diff(self, first: int, last: int) -> str:
        """Return unified diffs of the rules that differ between two states. Raises BadHistory for an unknown state."""
        before, after = self._states([first, last])
        old = {rule.id: rule_text(rule) for rule in before.active}
        new = {rule.id: rule_text(rule) for rule in after.active}
        ids = sorted({*old, *new}, key=rule_number)
        return "".join(_difference(id, old.get(id, ""), new.get(id, ""), first, last) for id in ids)

    def log(self) -> list[str]:
        """Return one line of text for each entry."""
        return [f"{number:>4}  {_describe_entry(entry)}" for number, entry in enumerate(self.entries, start=1)]

    def _states(self, numbers: list[int]) -> list[RuleBook]:
        books = states(self.initial, self.entries)
        for number in numbers:
            if not 0 <= number < len(books):
                raise BadHistory(f"there is no state {number}; {self._valid_numbers()}")
        return [books[number] for number in numbers]

    def _valid_numbers(self) -> str:
        if not self.entries:
            return "nothing has been changed yet: there is only state 0, the initial rules"
        return f"changes are numbered from 1 to {len(self.entries)}; state 0 is the initial rules"


def new_lesson_ids(history: History, first: int) -> set[str]:
    """Return the ids of rules about the environment or about errors that were added or reworded after state ``first``.

    A procedure that was written at that state does not take these rules into account yet.
    """
    books = states(history.initial, history.entries)
    before = {(rule.id, rule.content, rule.example) for rule in books[first].active}
    lessons = (rule for rule in books[-1].active if rule.type not in HOW_TO_TYPES)
    return {rule.id for rule in lessons if (rule.id, rule.content, rule.example) not in before}


def _difference(id: str, old: str, new: str, first: int, last: int) -> str:
    lines = difflib.unified_diff(old.splitlines(), new.splitlines(), f"{id} at {first}", f"{id} at {last}", lineterm="")
    return "".join(f"{line}\n" for line in lines)


def _describe_entry(entry: Applied | Undone) -> str:
    if isinstance(entry, Undone):
        return f"{entry.who}: went back to the rules before change {entry.entry}"
    batch = entry.change.batch
    where = " ".join(part for part in (batch.where, f"({batch.case})" if batch.case else "") if part)
    edits = ", ".join(map(_describe_touched, entry.change.touched)) or "changed nothing"
    return f"{batch.who}{f' at {where}' if where else ''}: {edits}"


def _describe_touched(touched: ChangedRule) -> str:
    if touched.before is None:
        kind = f" ({touched.after.type})" if touched.after and touched.after.type else ""
        return f"wrote {touched.id}{kind}"
    return f"deleted {touched.id}" if touched.after is None else f"updated {touched.id}"
