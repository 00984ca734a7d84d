"""Collect the edits of a model's reply into a batch, and check them.

Each edit is checked against the rules as they are after the previous edits. The functions above ``Draft`` check one
edit without its batch. They yield faults as messages for the model, which can then correct its reply.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from planbook.rules.book import (
    Batch,
    ChangedRule,
    DeleteRule,
    Edit,
    RuleBook,
    RuleChange,
    RulesError,
    UpdateRule,
    WriteRule,
    cited_ids,
)
from planbook.rules.permissions import Permissions, RuleForm
from planbook.rules.types import Rule, RuleType, listed, read_type, rule_id, rule_number

MAX_CHARACTERS = {"content": 3_000, "example": 6_000, "log": 1_000, "check": 2_000}
"""Maximum number of characters of each attribute. For ``log``, this is the maximum for one entry of the log."""


@dataclass(frozen=True, slots=True)
class EditFault:
    """One fault of an edit. ``number`` is the edit's position in its batch, counted from 1; ``edit`` describes it."""

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


class Denial(str):
    """The message for an edit that is valid, but not permitted in this situation."""


def attribute_faults(edit: WriteRule | UpdateRule, form: RuleForm) -> Iterator[str]:
    """Yield the faults of an edit's attributes."""
    for name, limit in MAX_CHARACTERS.items():
        text = getattr(edit, name) or ""
        if len(text) > limit:
            yield f"the {name} has {len(text)} characters; at most {limit} are allowed: keep what matters"
    if edit.content is not None and not edit.content.strip():
        yield "the content is empty: write when the rule applies and what it says"
    allowed = {"type": form.types, "example": form.examples, "check": form.checks, "log": form.logs}
    for name, is_allowed in allowed.items():
        if getattr(edit, name) and not is_allowed:
            yield f"rules have no {name}s here: leave {name} out"


def type_of(edit: WriteRule | UpdateRule, form: RuleForm) -> RuleType | None:
    """Return the rule type that an edit names, or None if rules of this form have no types.

    Raises ValueError if the edit names no type, or an unknown one. The message lists the allowed types.
    """
    if not form.types:
        return None
    if not edit.type:
        raise ValueError(f"a rule needs a type; the types are {listed(form.allowed_types)}")
    return read_type(edit.type, form.allowed_types)


def write_faults(type: RuleType | None, permissions: Permissions) -> Iterator[str]:
    """Yield a fault if rules of this type must not be written."""
    if not permissions.allows(permissions.writes, type):
        subject, instead = f"a {type} rule" if type else "a new rule", "update an existing rule instead"
        if permissions.writes and permissions.form.types:
            instead = f"only these types may be written: {listed(permissions.writes)}"
        yield Denial(f"{permissions.situation}, {subject} must not be written; {instead}")


def update_faults(rule: Rule, edit: UpdateRule, permissions: Permissions) -> Iterator[str]:
    """Yield a fault if this rule must not be updated, or must not get this type."""
    if edit.adds_log_only:
        return
    if not permissions.allows(permissions.updates, rule.type):
        yield Denial(
            f"{permissions.situation}, a {rule.type} rule must not be updated, except by adding an entry to its log; "
            f"only these types may be updated: {listed(permissions.updates)}"
        )
    if edit.type and permissions.form.types:
        yield from _retyping_faults(rule, edit, permissions)


def delete_faults(rule: Rule, permissions: Permissions) -> Iterator[str]:
    """Yield a fault if this rule must not be deleted."""
    if not permissions.allows(permissions.deletes, rule.type):
        subject = f"a {rule.type} rule" if permissions.deletes else "a rule"
        yield Denial(f"{permissions.situation}, {subject} must not be deleted, or merged into another: keep it")


def dependence_faults(own_id: str, builds_on: tuple[str, ...], book: RuleBook) -> Iterator[str]:
    """Yield a fault for each id in ``builds_on`` that is the rule's own, or not the id of a current rule."""
    for id in builds_on:
        if id == own_id:
            yield f"{id} cannot build on itself: leave it out of builds_on"
        elif id not in book.ids:
            yield f"builds_on: {book.unknown_reason(id)}"


def _retyping_faults(rule: Rule, edit: UpdateRule, permissions: Permissions) -> Iterator[str]:
    try:
        new_type = type_of(edit, permissions.form)
    except ValueError as error:
        yield str(error)
        return
    if new_type == rule.type:
        return
    if not permissions.allows(permissions.changes_from, rule.type):
        yield Denial(f"{permissions.situation}, the type of a {rule.type} rule must not be changed: leave type out")
    elif not permissions.allows(permissions.changes_to, new_type):
        yield Denial(f"{permissions.situation}, a rule must not be turned into a {new_type} rule: leave type out")


class Draft:
    """A batch of edits that are added one by one.

    A new rule gets its id as soon as its edit is added, so that later edits can name the rule. An edit that is not
    permitted is left out of a ``lenient`` draft; otherwise, it invalidates the whole batch.
    """

    def __init__(self, book: RuleBook, permissions: Permissions, *, lenient: bool = False) -> None:
        self._original, self._permissions, self._lenient = book, permissions, lenient
        self.left_out: list[EditFault] = []
        """The reasons why a lenient draft has left out edits."""
        self._valid: list[Edit] = []
        self._rules = {rule.id: rule for rule in book.active}
        self._next = book.next_number
        self._edit_count = 0
        """Number of edits so far, including those that were refused or left out."""
        self._edits: dict[int, Edit] = {}
        """Maps the number of each edit to the edit. Edits that were left out are not in it."""
        self.faults: list[EditFault] = []
        """The faults of single edits so far, without those of the batch as a whole."""
        self._assigned: list[str] = []
        self._last_edits: dict[str, int] = {}
        """Maps the id of each edited rule to the number of its last edit."""
        self._deleted: dict[str, int] = {}
        self._refused: set[str] = set()
        """Ids of refused new rules. Later edits of these rules are ignored, and ``builds_on`` omits these ids."""

    @property
    def book(self) -> RuleBook:
        """The book after the edits so far."""
        return RuleBook.from_rules(self._rules.values(), self._next)

    def add(self, edit: Edit) -> tuple[str, list[EditFault]]:
        """Add an edit. Return the id of its rule, and the faults of the edit. Any fault invalidates the batch.

        No faults are returned if the edit is left out, or if it edits a new rule that was refused.
        """
        self._edit_count += 1
        if not isinstance(edit, WriteRule) and edit.id in self._refused:
            return edit.id, []
        self._edits[self._edit_count] = edit
        match edit:
            case WriteRule():
                id, messages = self._write(edit)
            case UpdateRule():
                id, messages = edit.id, self._update(edit)
            case DeleteRule():
                id, messages = edit.id, self._delete(edit)
        faults = [self._fault(self._edit_count, message) for message in messages]
        if self._lenient and faults and all(isinstance(message, Denial) for message in messages):
            self._leave_out(id, faults)
            return id, []
        if id not in self._refused:
            self._last_edits[id] = self._edit_count
        if not faults:
            self._valid.append(edit)
        self.faults += faults
        return id, faults

    def _leave_out(self, id: str, faults: list[EditFault]) -> None:
        self.left_out += faults
        self._deleted.pop(id, None)
        if isinstance(self._edits.pop(self._edit_count), WriteRule):
            self._assigned.remove(id)

    def refuse(self, call: str, message: str) -> None:
        """Record a call that was refused before it became an edit. This invalidates the batch."""
        self._edit_count += 1
        self.faults.append(EditFault(self._edit_count, call, message))

    def change(self, batch: Batch) -> RuleChange:
        """Return the change that all edits make. It is recorded with the author, scope and case of ``batch``.

        Raises BatchRefused if there are faults.
        """
        if faults := sorted(self.faults + self._batch_faults(), key=lambda fault: fault.number):
            raise BatchRefused(faults)
        return self._change(batch, self._edits.values())

    def valid_part(self, batch: Batch) -> RuleChange | None:
        """Return the change that the valid edits make if the others are left out.

        Return None if there are no valid edits, or if they cannot be applied alone, for example because one of them
        names a refused rule.
        """
        self._assigned = [id for id in self._assigned if id in self._rules]
        if not self._valid or self._batch_faults():
            return None
        return self._change(batch, self._valid)

    def _change(self, batch: Batch, edits: Iterable[Edit]) -> RuleChange:
        batch = batch.model_copy(update={"edits": tuple(edits)})
        before = {rule.id: rule for rule in self._original.active}
        ids = sorted({*before, *self._rules}, key=rule_number)
        rules = [ChangedRule(id=id, before=before.get(id), after=self._rules.get(id)) for id in ids]
        changed = tuple(rule for rule in rules if rule.before != rule.after)
        return RuleChange(batch=batch, assigned=tuple(self._assigned), touched=changed, next_number=self._next)

    # One edit.

    def _write(self, edit: WriteRule) -> tuple[str, list[str]]:
        id = rule_id(self._next)
        self._next += 1
        self._assigned.append(id)
        messages = [*attribute_faults(edit, self._permissions.form)]
        messages += dependence_faults(id, self._not_refused(edit.builds_on), self.book)
        type = None
        try:
            type = type_of(edit, self._permissions.form)
        except ValueError as error:
            messages.append(str(error))
        else:
            messages += write_faults(type, self._permissions)
        if messages:
            self._refused.add(id)
        else:
            texts = {"content": edit.content.strip(), "example": trimmed(edit.example), "check": trimmed(edit.check)}
            self._rules[id] = Rule(
                id=id, type=type, builds_on=self._not_refused(edit.builds_on), log=_entries(edit.log), **texts
            )
        return id, messages

    def _update(self, edit: UpdateRule) -> list[str]:
        if edit.id in self._deleted:
            return [f"edit {self._deleted[edit.id]} in this batch deletes {edit.id}: either update it or delete it"]
        if (rule := self._rules.get(edit.id)) is None:
            return [self.book.unknown_reason(edit.id)]
        if edit.adds_log_only and not edit.log.strip():
            return ["no attributes were given: pass those that should change"]
        messages = [*attribute_faults(edit, self._permissions.form)]
        messages += update_faults(rule, edit, self._permissions)
        messages += dependence_faults(edit.id, self._not_refused(edit.builds_on or ()), self.book)
        if messages:
            return messages
        self._rules[edit.id] = updated = self._updated(rule, edit)
        return [] if updated != rule else ["this changes nothing: every attribute is as it was"]

    def _delete(self, edit: DeleteRule) -> list[str]:
        if edit.id in self._deleted:
            return [f"edit {self._deleted[edit.id]} in this batch already deletes {edit.id}: delete it only once"]
        if (rule := self._rules.get(edit.id)) is None:
            return [self.book.unknown_reason(edit.id)]
        messages = list(delete_faults(rule, self._permissions))
        if edit.id in self._last_edits:
            number = self._last_edits[edit.id]
            messages.append(f"edit {number} in this batch changes {edit.id}: either update it or delete it")
        self._deleted[edit.id] = self._edit_count
        if not messages:
            del self._rules[edit.id]
        return messages

    def _updated(self, rule: Rule, edit: UpdateRule) -> Rule:
        new: dict[str, object] = {"log": (*rule.log, *_entries(edit.log))}
        if edit.content is not None:
            new["content"] = edit.content.strip()
        if edit.type:
            new["type"] = type_of(edit, self._permissions.form)
        if edit.example is not None:
            new["example"] = trimmed(edit.example)
        if edit.check is not None:
            new["check"] = trimmed(edit.check)
        if edit.builds_on is not None:
            new["builds_on"] = self._not_refused(edit.builds_on)
        return rule.model_copy(update=new)

    def _not_refused(self, ids: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(id for id in dict.fromkeys(ids) if id not in self._refused)

    # The batch as a whole.

    def _batch_faults(self) -> list[EditFault]:
        return [*self._orphaned_citations(), *self._unknown_citations(), *self._duplicates()]

    def _orphaned_citations(self) -> list[EditFault]:
        """Return a fault for each deleted rule that other rules still cite."""
        book = self.book
        return [
            self._fault(
                number,
                f"{', '.join(citing)} would still name {id}: update {'it' if len(citing) == 1 else 'them'} in the same "
                f"batch so that {id} is no longer named (content, example, builds_on), or keep {id}",
            )
            for id, number in self._deleted.items()
            if id not in self._rules and (citing := book.cited_by(id))
        ]

    def _unknown_citations(self) -> list[EditFault]:
        """Return a fault for each id that an edited rule newly cites, although no rule in this draft has had it.

        Without this check, a later rule might get this id, and the text would name the wrong rule.
        """
        cited_before = {rule.id: set(cited_ids(rule)) for rule in self._original.active}
        known_ids = {*self._rules, *self._deleted, *self._assigned}
        refusal = "this rule is not permitted, and was left out: do not name it"
        return [
            self._fault(
                number,
                f"the text names {cited}, but {refusal if cited in self._refused else self.book.unknown_reason(cited)}",
            )
            for id, number in self._last_edits.items()
            if id in self._rules
            for cited in cited_ids(self._rules[id])
            if cited not in known_ids | cited_before.get(id, set())
        ]

    def _duplicates(self) -> list[EditFault]:
        """Return a fault for each new or changed rule with the same content as another rule."""
        content_before = {rule.id: rule.content for rule in self._original.active}
        first_ids: dict[str, str] = {}
        faults = []
        for rule in sorted(self.book.active, key=lambda rule: rule.content != content_before.get(rule.id)):
            twin = first_ids.setdefault(" ".join(rule.content.split()).casefold(), rule.id)
            if twin != rule.id and rule.content != content_before.get(rule.id):
                message = f"its content is the same as that of {twin}: update {twin} instead, or say how they differ"
                faults.append(self._fault(self._last_edits[rule.id], message))
        return faults

    def _fault(self, number: int, message: str) -> EditFault:
        return EditFault(number, str(self._edits[number]), message)


def trimmed(code: str) -> str:
    """Return the code without blank lines at its beginning and end. The first line keeps its indentation."""
    return re.sub(r"\A\s*\n", "", code).rstrip()


def _entries(log: str) -> tuple[str, ...]:
    return (log.strip(),) if log.strip() else ()
