"""The evidence for a rule: how often planners cited it, were not blamed for ignoring it, and succeeded."""

from collections.abc import Iterable, Mapping

from pydantic import Field

from planbook.rules.book import RuleBook
from planbook.rules.types import Learnt

LEAST_EPISODES = 4
"""Episodes that a check applies to before a rule is called useless; half as many of each kind where it was obeyed."""
_COLUMNS = ("rule", "type", "cited", "without blame", "solved")


class Citation(Learnt):
    """The rules that the plans of one episode named. ``blamed_agent`` are those that the Builder found not followed."""

    episode: str
    rule_ids: tuple[str, ...]
    solved: bool
    blamed_agent: frozenset[str] = frozenset()
    obeyed: dict[str, bool] = Field(default={}, exclude_if=lambda obeyed: not obeyed)
    """Whether the episode followed each rule whose check applies to it."""


class Obedience(Learnt):
    """Counts of the episodes that a rule's check applies to, and of those solved among them."""

    obeyed: int = 0
    obeyed_solved: int = 0
    others: int = 0
    others_solved: int = 0

    def __str__(self) -> str:
        told = f"obeyed in {self.obeyed} of {self.obeyed + self.others} episodes, {self.obeyed_solved} of them solved"
        others = f"{self.others_solved} of the other {self.others} solved"
        return f"{told}, {others}{': ' + self.useless if self.useless else ''}"

    @property
    def useless(self) -> str:
        """Why the rule may be dropped; empty if it may help, or if too few episodes tell."""
        if not self.obeyed:
            return "never obeyed" if self.others >= LEAST_EPISODES else ""
        if min(self.obeyed, self.others) * 2 < LEAST_EPISODES:
            return ""
        helps = self.obeyed_solved * self.others > self.others_solved * self.obeyed
        return "" if helps else "obeying it does not help"

    def after(self, *, obeyed: bool, solved: bool) -> "Obedience":
        """Return the counts with one more episode."""
        return Obedience(
            obeyed=self.obeyed + obeyed,
            obeyed_solved=self.obeyed_solved + (obeyed and solved),
            others=self.others + (not obeyed),
            others_solved=self.others_solved + (solved and not obeyed),
        )


class Evidence(Learnt):
    """Counts of episodes for one rule; ``unblamed`` and ``solved`` are subsets of ``cited``.

    ``unblamed`` counts episodes in which the Builder did not find that the rule was ignored. It is not known that the
    rule was followed: after a success nothing is asked.
    """

    cited: int = 0
    unblamed: int = 0
    solved: int = 0
    obedience: Obedience | None = Field(default=None, exclude_if=lambda obedience: obedience is None)
    """Of a rule with a check."""

    def __str__(self) -> str:
        measured = f"; by its check {self.obedience}" if self.obedience else ""
        if not self.cited:
            return f"never cited{measured}"
        episodes = "1 episode" if self.cited == 1 else f"{self.cited} episodes"
        return f"cited in {episodes}, without blame in {self.unblamed}, solved {self.solved}{measured}"


NO_EVIDENCE = Evidence()


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
                obedience=before.obedience,
            )
        for id, obeyed in citation.obeyed.items():
            before = counted.get(id, NO_EVIDENCE)
            counts = (before.obedience or Obedience()).after(obeyed=obeyed, solved=citation.solved)
            counted[id] = before.model_copy(update={"obedience": counts})
    return counted


def evidence_table(book: RuleBook, evidence: Mapping[str, Evidence]) -> str:
    """Return the evidence of every rule in force, in columns."""
    if any(each.obedience for each in evidence.values()):
        return _with_obedience(book, evidence)
    rows = [_COLUMNS, *(_row(rule.id, rule.type, evidence.get(rule.id, NO_EVIDENCE)) for rule in book.active)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(_COLUMNS))]
    return "".join(_line(row, widths) for row in rows)


def useless(evidence: Mapping[str, Evidence]) -> dict[str, str]:
    """Return the rules that may be dropped by what their checks say, with the reason."""
    return {id: each.obedience.useless for id, each in evidence.items() if each.obedience and each.obedience.useless}


def _with_obedience(book: RuleBook, evidence: Mapping[str, Evidence]) -> str:
    found = [(rule, evidence.get(rule.id, NO_EVIDENCE)) for rule in book.active]
    cells = [(*_row(rule.id, rule.type, each), *_obedience_row(each.obedience)) for rule, each in found]
    rows = [(*_COLUMNS, "obeyed", "solved so", "not obeyed", "solved so"), *cells]
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return "".join(_line(row, widths) for row in rows)


def _obedience_row(counts: Obedience | None) -> tuple[str, ...]:
    if counts is None:
        return ("-",) * 4
    return tuple(map(str, (counts.obeyed, counts.obeyed_solved, counts.others, counts.others_solved)))


def lines(book: RuleBook, evidence: Mapping[str, Evidence]) -> list[str]:
    """Return one short line for each rule in force, for a prompt."""
    return [f"{rule.id}: {evidence.get(rule.id, NO_EVIDENCE)}" for rule in book.active]


def _row(id: str, type: str | None, evidence: Evidence) -> tuple[str, ...]:
    return id, type or "", str(evidence.cited), str(evidence.unblamed), str(evidence.solved)


def _line(row: tuple[str, ...], widths: list[int]) -> str:
    words, figures = zip(row[:2], widths[:2], strict=True), zip(row[2:], widths[2:], strict=True)
    cells = [word.ljust(width) for word, width in words] + [figure.rjust(width) for figure, width in figures]
    return "  ".join(cells).rstrip() + "\n"
