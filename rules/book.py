"""The rules in force, and the evidence for each.

Evidence counts the episodes in which planners cited a rule, and among these the solved ones and those in which the
agent was not blamed for ignoring it.
"""

from collections.abc import Iterable, Mapping
from typing import Self

from pydantic import Field

from planbook.rules.errors import UnknownRule
from planbook.rules.obedience import Obedience
from planbook.rules.types import Learned, Rule, citations, rule_id, rule_number


class RuleBook(Learned):
    """The rules in force, in the order of their numbers.

    ``next_number`` is above every number ever assigned, including those of deleted rules.
    """

    active: tuple[Rule, ...] = ()
    next_number: int = 0

    @classmethod
    def of(cls, initial: Iterable[Rule]) -> Self:
        """Return a new book with these rules. Raises ValueError for an invalid or repeated id."""
        rules = sorted(initial, key=lambda rule: rule_number(rule.id))
        numbers = [rule_number(rule.id) for rule in rules]
        if repeated := sorted({number for number in numbers if numbers.count(number) > 1}):
            raise ValueError(f"several rules have the same id: {', '.join(map(rule_id, repeated))}")
        return cls(active=tuple(rules), next_number=max(numbers, default=-1) + 1)

    @property
    def ids(self) -> tuple[str, ...]:
        """The ids of the rules in force."""
        return tuple(rule.id for rule in self.active)

    def rule(self, id: str) -> Rule:
        """Return the rule with that id. Raises UnknownRule."""
        for rule in self.active:
            if rule.id == id:
                return rule
        raise UnknownRule(self.why_unknown(id))

    def was_assigned(self, id: str) -> bool:
        """Return True if the id was given to a rule, even to one that was refused."""
        try:
            return rule_number(id) < self.next_number
        except ValueError:
            return False

    def why_unknown(self, id: str) -> str:
        """Return the message for an id without a rule."""
        reason = f"{id} was deleted, undone or refused" if self.was_assigned(id) else f"there is no {id}"
        return f"{reason}; the rules are {', '.join(self.ids)}" if self.active else f"{reason}; the book is empty"

    def cited_by(self, id: str) -> tuple[str, ...]:
        """Return the ids of the other rules that cite this one."""
        return tuple(rule.id for rule in self.active if rule.id != id and id in cites(rule))


def cites(rule: Rule) -> tuple[str, ...]:
    """Return the ids in a rule's content and example, and those of the rules that it builds on; its log is ignored."""
    return tuple(dict.fromkeys((*citations(f"{rule.content}\n{rule.example}"), *rule.builds_on)))


def rule_text(rule: Rule) -> str:
    """Return a complete rule as plain lines, for people and for diffs."""
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


_OBEDIENCE_COLUMNS = ("obeyed", "solved if obeyed", "not obeyed", "solved if not")
_COLUMNS = ("rule", "type", "cited", "without blame", "solved")


class Citation(Learned):
    """The ids of the rules that the plans of one episode cited.

    ``blamed_agent`` holds the ids of those that the agent ignored, according to the Builder.
    """

    episode: str
    rule_ids: tuple[str, ...]
    solved: bool
    blamed_agent: frozenset[str] = frozenset()
    obeyed: dict[str, bool] = Field(default={}, exclude_if=lambda obeyed: not obeyed)
    """Whether the episode followed each rule, by id; only rules whose check applies to the episode."""


class Evidence(Learned):
    """Counts of episodes for one rule. ``unblamed`` and ``solved`` each count some of the ``cited`` episodes.

    ``unblamed`` counts episodes in which the Builder did not say that the agent ignored the rule. That does not prove
    that the rule was followed: after a direct success, the Builder is not asked.
    """

    cited: int = 0
    unblamed: int = 0
    solved: int = 0
    obedience: Obedience | None = Field(default=None, exclude_if=lambda obedience: obedience is None)
    """The counts from the rule's check; None if the check applied to no episode."""

    def __str__(self) -> str:
        measured = f"; by its check {self.obedience}" if self.obedience else ""
        if not self.cited:
            return f"never cited{measured}"
        episodes = "1 episode" if self.cited == 1 else f"{self.cited} episodes"
        return f"cited in {episodes}, without blame in {self.unblamed}, solved {self.solved}{measured}"


NO_EVIDENCE = Evidence()
"""The evidence of a rule that no episode has cited."""


def count(citations: Iterable[Citation]) -> dict[str, Evidence]:
    """Return the evidence for each rule, by id. If an episode has two records, the later one counts."""
    counted: dict[str, Evidence] = {}
    for citation in {citation.episode: citation for citation in citations}.values():
        for id in dict.fromkeys(citation.rule_ids):
            before = counted.get(id, NO_EVIDENCE)
            counted[id] = Evidence(
                cited=before.cited + 1,
                unblamed=before.unblamed + (id not in citation.blamed_agent),
                solved=before.solved + citation.solved,
                obedience=before.obedience,
            )
        for id, obeyed in citation.obeyed.items():
            before = counted.get(id, NO_EVIDENCE)
            counts = (before.obedience or Obedience()).after(obeyed=obeyed, solved=citation.solved)
            counted[id] = before.model_copy(update={"obedience": counts})
    return counted


def useless(evidence: Mapping[str, Evidence]) -> dict[str, str]:
    """Return the ids of rules that may be dropped according to their checks, with the reasons."""
    counts = {id: each.obedience for id, each in evidence.items() if each.obedience}
    return {id: obedience.why_useless for id, obedience in counts.items() if obedience.why_useless}


def evidence_table(book: RuleBook, evidence: Mapping[str, Evidence]) -> str:
    """Return the evidence of every rule in force, in columns."""
    by_rule = [evidence.get(rule.id, NO_EVIDENCE) for rule in book.active]
    rows = [_COLUMNS, *map(_row, book.active, by_rule)]
    if any(each.obedience for each in by_rule):
        columns = [_OBEDIENCE_COLUMNS, *(each.obedience.cells if each.obedience else ("-",) * 4 for each in by_rule)]
        rows = [(*row, *more) for row, more in zip(rows, columns, strict=True)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    aligned = [f"<{width}" for width in widths[:2]] + [f">{width}" for width in widths[2:]]
    lines = ("  ".join(map(format, row, aligned)).rstrip() for row in rows)
    return "".join(f"{line}\n" for line in lines)


def _row(rule: Rule, evidence: Evidence) -> tuple[str, ...]:
    return rule.id, rule.type or "", str(evidence.cited), str(evidence.unblamed), str(evidence.solved)
