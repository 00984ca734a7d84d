"""Checks of a single edit, whatever else its batch holds. Each fault is a message for the model."""

from collections.abc import Iterator

from planbook.rules.book import RuleBook
from planbook.rules.cases import Form, Permissions
from planbook.rules.edits import UpdateRule, WriteRule
from planbook.rules.naming import listed, read_type
from planbook.rules.types import Rule, RuleType

LONGEST = {"content": 3_000, "example": 6_000, "log": 1_000, "check": 2_000}
"""Maximum characters of each attribute; for a log, of one entry."""


class Forbidden(str):
    """A fault of an edit that is sound in itself but not permitted."""


def attribute_faults(edit: WriteRule | UpdateRule, form: Form) -> Iterator[str]:
    """Return the faults of the given texts."""
    for name, limit in LONGEST.items():
        given = getattr(edit, name) or ""
        if len(given) > limit:
            yield f"the {name} has {len(given)} characters; at most {limit} are allowed: keep what matters"
    if edit.content is not None and not edit.content.strip():
        yield "the content is empty: say when the rule applies and what it says"
    if edit.type and not form.types:
        yield "rules have no types here: leave type out"
    if edit.example and not form.examples:
        yield "rules have no examples here: leave example out"
    if edit.check and not form.checks:
        yield "rules have no checks here: leave check out"
    if edit.log and not form.logs:
        yield "rules have no validation logs here: leave log out"


def type_of(edit: WriteRule | UpdateRule, form: Form) -> RuleType | None:
    """Return the given type, None if rules have none. Raises ValueError, which lists the types."""
    if not form.types:
        return None
    if not edit.type:
        raise ValueError(f"a rule needs a type; the types are {listed(form.offered)}")
    return read_type(edit.type, form.offered)


def write_faults(type: RuleType | None, permissions: Permissions) -> Iterator[str]:
    """Return why a rule of this type may not be written."""
    if not permissions.may(permissions.writes, type):
        what = f"a {type} rule" if type else "a new rule"
        yield Forbidden(f"{permissions.when}, {what} must not be written; {_instead(permissions)}")


def update_faults(rule: Rule, edit: UpdateRule, permissions: Permissions) -> Iterator[str]:
    """Return why this rule may not be updated like this."""
    if edit.adds_log_only:
        return
    if not permissions.may(permissions.updates, rule.type):
        yield Forbidden(
            f"{permissions.when}, a {rule.type} rule must not be updated, only {listed(permissions.updates)} rules; "
            "an entry may be added to its log"
        )
    if edit.type and permissions.form.types:
        yield from _retyping_faults(rule, edit, permissions)


def delete_faults(rule: Rule, permissions: Permissions) -> Iterator[str]:
    """Return why this rule may not be deleted."""
    if not permissions.may(permissions.deletes, rule.type):
        what = f"a {rule.type} rule" if permissions.deletes else "a rule"
        yield Forbidden(f"{permissions.when}, {what} must not be deleted, or merged into another: keep it")


def dependence_faults(own_id: str, builds_on: tuple[str, ...], known: RuleBook) -> Iterator[str]:
    """Return which rules that it builds on do not exist."""
    for id in builds_on:
        if id == own_id:
            yield f"{id} cannot build on itself: leave it out of builds_on"
        elif id not in known.ids:
            yield f"builds_on: {known.why_unknown(id)}"


def _retyping_faults(rule: Rule, edit: UpdateRule, permissions: Permissions) -> Iterator[str]:
    try:
        wanted = type_of(edit, permissions.form)
    except ValueError as error:
        yield str(error)
        return
    if wanted == rule.type:
        return
    if not permissions.may(permissions.leaves, rule.type):
        yield Forbidden(f"{permissions.when}, the type of a {rule.type} rule must not be changed: leave type out")
    elif not permissions.may(permissions.becomes, wanted):
        yield Forbidden(f"{permissions.when}, a rule must not be turned into a {wanted} rule: leave type out")


def _instead(permissions: Permissions) -> str:
    if not permissions.writes:
        return "update the rules that there are"
    return f"only these may: {listed(permissions.writes)}" if permissions.form.types else "update the rules there are"
