"""Check one edit of the rules on its own, regardless of the other edits in its batch.

The functions yield faults as messages for the model, which can then correct its reply. ``texts`` maps the names of
attributes, such as ``content``, to the texts that an edit gives for them.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from planbook.rules.book import RuleBook, RulesError
from planbook.rules.permissions import Permissions, RuleForm, is_allowed
from planbook.rules.types import Rule, RuleType, format_types, read_type

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


def attribute_faults(texts: Mapping[str, str], form: RuleForm) -> Iterator[str]:
    """Yield the faults of an edit's attributes."""
    for name, limit in MAX_CHARACTERS.items():
        if (length := len(texts.get(name, ""))) > limit:
            yield f"the {name} has {length} characters; at most {limit} are allowed: keep what matters"
    if "content" in texts and not texts["content"].strip():
        yield "the content is empty: write when the rule applies and what it says"
    in_form = {"type": form.types, "example": form.examples, "check": form.checks, "log": form.logs}
    for name, has_attribute in in_form.items():
        if name in texts and not has_attribute:
            yield f"rules have no {name}s here: leave {name} out"


def type_of(texts: Mapping[str, str], form: RuleForm) -> RuleType | None:
    """Return the rule type that an edit names, or None if rules of this form have no types.

    Raises ValueError if the edit names no type, or an unknown one. The message lists the allowed types.
    """
    if not form.types:
        return None
    if "type" not in texts:
        raise ValueError(f"a rule needs a type; the types are {format_types(form.allowed_types)}")
    return read_type(texts["type"], form.allowed_types)


def write_faults(type: RuleType | None, permissions: Permissions) -> Iterator[str]:
    """Yield a fault if rules of this type must not be written."""
    if not is_allowed(type, permissions.writes):
        subject, instead = f"a {type} rule" if type else "a new rule", "update an existing rule instead"
        if permissions.writes and permissions.form.types:
            instead = f"only these types may be written: {format_types(permissions.writes)}"
        yield Denial(f"{permissions.situation}, {subject} must not be written; {instead}")


def update_faults(rule: Rule, texts: Mapping[str, str], permissions: Permissions) -> Iterator[str]:
    """Yield a fault if this rule must not be updated, or if its type in ``texts`` is unknown or not allowed."""
    if not is_allowed(rule.type, permissions.updates):
        yield Denial(
            f"{permissions.situation}, a {rule.type} rule must not be updated, except by adding an entry to its log; "
            f"only these types may be updated: {format_types(permissions.updates)}"
        )
    if "type" in texts and permissions.form.types:
        yield from _retyping_faults(rule, texts, permissions)


def delete_faults(rule: Rule, permissions: Permissions) -> Iterator[str]:
    """Yield a fault if this rule must not be deleted."""
    if not is_allowed(rule.type, permissions.deletes):
        subject = f"a {rule.type} rule" if permissions.deletes else "a rule"
        yield Denial(f"{permissions.situation}, {subject} must not be deleted, or merged into another: keep it")


def dependence_faults(own_id: str, builds_on: Iterable[str], book: RuleBook) -> Iterator[str]:
    """Yield a fault for each id in ``builds_on`` that is the rule's own, or not the id of a current rule."""
    for id in builds_on:
        if id == own_id:
            yield f"{id} cannot build on itself: leave it out of builds_on"
        elif id not in book.ids:
            yield f"builds_on: {book.missing_rule_message(id)}"


def _retyping_faults(rule: Rule, texts: Mapping[str, str], permissions: Permissions) -> Iterator[str]:
    try:
        new_type = type_of(texts, permissions.form)
    except ValueError as error:
        yield str(error)
        return
    if new_type == rule.type:
        return
    if not is_allowed(rule.type, permissions.changes_from):
        yield Denial(f"{permissions.situation}, the type of a {rule.type} rule must not be changed: leave type out")
    elif not is_allowed(new_type, permissions.changes_to):
        yield Denial(f"{permissions.situation}, a rule must not be turned into a {new_type} rule: leave type out")
