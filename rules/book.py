"""The rule book: the current rules, and the evidence for each.

Planners cite rules by their ids. The evidence for a rule counts the episodes that cited the rule, those of them that
were solved, and those in which the Builder (the model that writes rules) did not blame the agent for ignoring the rule.
"""

from collections.abc import Iterable, Mapping
from typing import Self

from pydantic import Field

from planbook.rules.errors import UnknownRule
from planbook.rules.obedience import Obedience
from planbook.rules.types import Learned, Rule, citations, rule_id, rule_number


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
    """Return the ids of the rules that a rule names in its content or example, or builds on. Its log is ignored."""
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


_OBEDIENCE_COLUMNS = ("obeyed", "solved if obeyed", "not obeyed", "solved if not")
_COLUMNS = ("rule", "type", "cited", "without blame", "solved")


class Citation(Learned):
    """The rules that the plans of one episode cited.

    ``blamed_agent`` holds the ids of the cited rules that, according to the Builder, the agent ignored.
    """

    episode: str
    rule_ids: tuple[str, ...]
    solved: bool
    blamed_agent: frozenset[str] = frozenset()
    obeyed: dict[str, bool] = Field(default={}, exclude_if=lambda obeyed: not obeyed)
    """Maps the id of a rule to True if the episode followed it. Contains only rules whose checks apply to it."""


class Evidence(Learned):
    """Counts of episodes for one rule.

    ``cited`` counts the episodes that cited the rule, and ``solved`` those of them that were solved. ``unblamed``
    counts those in which the Builder did not say that the agent ignored the rule. This does not prove that the agent
    followed the rule: after a direct success (no cell ended in an error), the Builder is not asked who is to blame.
    """

    cited: int = 0
    unblamed: int = 0
    solved: int = 0
    obedience: Obedience | None = Field(default=None, exclude_if=lambda obedience: obedience is None)
    """The counts from the rule's check, or None if the check applied to no episode."""

    def __str__(self) -> str:
        measured = f"; by its check {self.obedience}" if self.obedience else ""
        if not self.cited:
            return f"never cited{measured}"
        episodes = "1 episode" if self.cited == 1 else f"{self.cited} episodes"
        return f"cited in {episodes}, without blame in {self.unblamed}, solved {self.solved}{measured}"


NO_EVIDENCE = Evidence()
"""The evidence of a rule that no episode has cited."""


def count_evidence(citations: Iterable[Citation]) -> dict[str, Evidence]:
    """Return a dict that maps rule ids to evidence. If an episode has several records, only the last one counts."""
    counted: dict[str, Evidence] = {}
    for citation in {citation.episode: citation for citation in citations}.values():
        for id in dict.fromkeys(citation.rule_ids):
            previous = counted.get(id, NO_EVIDENCE)
            counted[id] = Evidence(
                cited=previous.cited + 1,
                unblamed=previous.unblamed + (id not in citation.blamed_agent),
                solved=previous.solved + citation.solved,
                obedience=previous.obedience,
            )
        for id, obeyed in citation.obeyed.items():
            previous = counted.get(id, NO_EVIDENCE)
            counts = (previous.obedience or Obedience()).with_episode(obeyed=obeyed, solved=citation.solved)
            counted[id] = previous.model_copy(update={"obedience": counts})
    return counted


def useless_rules(evidence: Mapping[str, Evidence]) -> dict[str, str]:
    """Return the ids of the rules that, according to their checks, may be dropped. Each id is mapped to the reason."""
    counts = {id: row.obedience for id, row in evidence.items() if row.obedience}
    return {id: obedience.useless_reason for id, obedience in counts.items() if obedience.useless_reason}


def evidence_table(book: RuleBook, evidence: Mapping[str, Evidence]) -> str:
    """Return a text table with the evidence for every current rule."""
    by_rule = [evidence.get(rule.id, NO_EVIDENCE) for rule in book.active]
    rows = [_COLUMNS, *map(_row, book.active, by_rule)]
    if any(row.obedience for row in by_rule):
        columns = [_OBEDIENCE_COLUMNS, *(row.obedience.cells if row.obedience else ("-",) * 4 for row in by_rule)]
        rows = [(*row, *cells) for row, cells in zip(rows, columns, strict=True)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    aligned = [f"<{width}" for width in widths[:2]] + [f">{width}" for width in widths[2:]]
    lines = ("  ".join(map(format, row, aligned)).rstrip() for row in rows)
    return "".join(f"{line}\n" for line in lines)


def _row(rule: Rule, evidence: Evidence) -> tuple[str, ...]:
    return rule.id, rule.type or "", str(evidence.cited), str(evidence.unblamed), str(evidence.solved)
