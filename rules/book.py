"""The rule book. It never changes: an edit makes a new one."""

from collections.abc import Iterable
from typing import Self

from planbook.rules.errors import UnknownRule
from planbook.rules.naming import citations, rule_id, rule_number
from planbook.rules.types import Learnt, Rule


class RuleBook(Learnt):
    """The rules in force, in the order of their numbers.

    ``next_number`` is above every number ever given, deleted rules included.
    """

    active: tuple[Rule, ...] = ()
    next_number: int = 0

    @classmethod
    def of(cls, initial: Iterable[Rule]) -> Self:
        """Return a book that begins with these rules. Raises ValueError for an invalid or repeated id."""
        rules = sorted(initial, key=lambda rule: rule_number(rule.id))
        numbers = [rule_number(rule.id) for rule in rules]
        if twice := sorted({number for number in numbers if numbers.count(number) > 1}):
            raise ValueError(f"given to two rules: {', '.join(map(rule_id, twice))}")
        return cls(active=tuple(rules), next_number=max(numbers, default=-1) + 1)

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the rules in force."""
        return tuple(rule.id for rule in self.active)

    def rule(self, id: str) -> Rule:
        """Return the rule of that id. Raises UnknownRule."""
        for rule in self.active:
            if rule.id == id:
                return rule
        raise UnknownRule(self.why_unknown(id))

    def was_given(self, id: str) -> bool:
        """Return whether a rule ever had that id, in force or deleted."""
        try:
            return rule_number(id) < self.next_number
        except ValueError:
            return False

    def why_unknown(self, id: str) -> str:
        """Return the message for a request of a rule that does not exist."""
        why = f"{id} was deleted" if self.was_given(id) else f"there is no {id}"
        return f"{why}; the rules are {', '.join(self.ids)}" if self.active else f"{why}; the book is empty"

    def cited_by(self, id: str) -> tuple[str, ...]:
        """Return the ids of the other rules that name this one."""
        return tuple(rule.id for rule in self.active if rule.id != id and id in cites(rule))


def cites(rule: Rule) -> tuple[str, ...]:
    """Return the ids that a rule names in content and example, and those it builds on.

    Its validation log does not count.
    """
    return tuple(dict.fromkeys((*citations(f"{rule.content}\n{rule.example}"), *rule.builds_on)))


def rule_text(rule: Rule) -> str:
    """Return a whole rule as plain lines, for people and for diffs."""
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
