"""The evidence for a rule: how often planners cited it, were not blamed for ignoring it, and succeeded."""

from collections.abc import Iterable, Mapping

from planbook.rules.book import RuleBook
from planbook.rules.types import Learnt

_COLUMNS = ("rule", "type", "cited", "without blame", "solved")


class Citation(Learnt):
    """The rules that the plans of one episode named. ``blamed_agent`` are those that the Builder found not followed."""

    episode: str
    rule_ids: tuple[str, ...]
    solved: bool
    blamed_agent: frozenset[str] = frozenset()


class Evidence(Learnt):
    """Counts of episodes for one rule; ``unblamed`` and ``solved`` are subsets of ``cited``.

    ``unblamed`` counts episodes in which the Builder did not find that the rule was ignored. It is not known that the
    rule was followed: after a success nothing is asked.
    """

    cited: int = 0
    unblamed: int = 0
    solved: int = 0

    def __str__(self) -> str:
        if not self.cited:
            return "never cited"
        episodes = "1 episode" if self.cited == 1 else f"{self.cited} episodes"
        return f"cited in {episodes}, without blame in {self.unblamed}, solved {self.solved}"


NO_EVIDENCE = Evidence()
"""The evidence of a rule that no episode has cited."""


def count(citations: Iterable[Citation]) -> dict[str, Evidence]:
    """Return the evidence by rule id. If an episode has two records, the later counts."""
    counted: dict[str, Evidence] = {}
    for citation in {each.episode: each for each in citations}.values():
        for id in dict.fromkeys(citation.rule_ids):
            before = counted.get(id, NO_EVIDENCE)
            counted[id] = Evidence(
                cited=before.cited + 1,
                unblamed=before.unblamed + (id not in citation.blamed_agent),
                solved=before.solved + citation.solved,
            )
    return counted


def evidence_table(book: RuleBook, evidence: Mapping[str, Evidence]) -> str:
    """Return the evidence of every rule in force, in columns."""
    rows = [_COLUMNS, *(_row(rule.id, rule.type, evidence.get(rule.id, NO_EVIDENCE)) for rule in book.active)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    return "".join(_line(row, widths) for row in rows)


def lines(book: RuleBook, evidence: Mapping[str, Evidence]) -> list[str]:
    """Return one short line for each rule in force, for a prompt."""
    return [f"{rule.id}: {evidence.get(rule.id, NO_EVIDENCE)}" for rule in book.active]


def _row(id: str, type: str | None, evidence: Evidence) -> tuple[str, ...]:
    return id, type or "", str(evidence.cited), str(evidence.unblamed), str(evidence.solved)


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    words, figures = zip(row[:2], widths[:2], strict=True), zip(row[2:], widths[2:], strict=True)
    cells = [word.ljust(width) for word, width in words] + [figure.rjust(width) for figure, width in figures]
    return "  ".join(cells).rstrip() + "\n"
