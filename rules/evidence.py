"""Count the evidence for each rule: the episodes that cited it, and those that obeyed it.

Planners cite rules by their ids. Of the episodes that cited a rule, the evidence counts those that were solved, and
those in which the Builder (the model that writes rules) did not blame the agent for ignoring the rule.

A rule may also have a check: code that decides whether an episode obeyed the rule. The AutoManual paper has no checks.
A check defines ``obeyed(code, steps)``, which returns True or False, or None if the rule does not apply to the episode.
``code`` is all of the episode's plan code. ``steps`` lists the episode's actions, each as a dict with the keys
``action`` (its name), ``call`` (such as ``go_to('desk')``), ``observation`` and ``accepted``.
"""

from collections.abc import Iterable, Mapping, Sequence
from math import comb
from typing import Any

from pydantic import Field

from planbook.planner import Trajectory
from planbook.rules.book import RuleBook
from planbook.rules.types import LearnedRecord, Rule
from planbook.sandbox import Limits, Sandbox, check as check_plan

MIN_EPISODES = 5
"""A rule is reported as never obeyed only if it applied in at least this many episodes."""
SIGNIFICANCE = 0.05
"""A difference is significant if its p-value is below this."""


class Obedience(LearnedRecord):
    """Counts of the episodes that obeyed a rule, judging by its check, and of those that did not (``others``).

    Episodes to which the rule does not apply are not counted.
    """

    obeyed: int = 0
    obeyed_solved: int = 0
    others: int = 0
    others_solved: int = 0

    def __str__(self) -> str:
        obeyed = f"obeyed in {self.obeyed} of {self.obeyed + self.others} episodes, {self.obeyed_solved} of them solved"
        others = f"{self.others_solved} of the other {self.others} solved"
        return f"{obeyed}, {others}{f': {self.reason_to_drop}' if self.reason_to_drop else ''}"

    @property
    def reason_to_drop(self) -> str:
        """The evidence for dropping the rule, or "" if there is not enough."""
        if not self.obeyed:
            return "never obeyed" if self.others >= MIN_EPISODES else ""
        return (
            f"episodes that obey it are solved less often (p = {self.p_value:.2g})"
            if self.p_value < SIGNIFICANCE
            else ""
        )

    @property
    def p_value(self) -> float:
        """The p-value for the null hypothesis that obeying the rule does no harm (Fisher's exact test, one-sided).

        It is small if surprisingly few of the episodes that obeyed the rule were solved.
        """
        solved = self.obeyed_solved + self.others_solved
        fewest = max(0, solved - self.others)
        ways = (comb(self.obeyed, n) * comb(self.others, solved - n) for n in range(fewest, self.obeyed_solved + 1))
        return sum(ways) / comb(self.obeyed + self.others, solved)

    def with_episode(self, *, obeyed: bool, solved: bool) -> "Obedience":
        """Return the counts with one more episode."""
        return Obedience(
            obeyed=self.obeyed + obeyed,
            obeyed_solved=self.obeyed_solved + (obeyed and solved),
            others=self.others + (not obeyed),
            others_solved=self.others_solved + (solved and not obeyed),
        )


_OBEDIENCE_COLUMNS = ("obeyed", "solved if obeyed", "not obeyed", "solved if not")
"""Table headings for the fields of ``Obedience``, in the same order."""
_EVIDENCE_COLUMNS = ("rule", "type", "cited", "without blame", "solved")


class Citation(LearnedRecord):
    """The rules that one episode cited, and whether it obeyed each rule that has a check.

    ``ignored_rule_ids`` holds the ids of the cited rules that, according to the Builder, the agent ignored.
    """

    episode: str
    rule_ids: tuple[str, ...]
    solved: bool
    ignored_rule_ids: frozenset[str] = Field(default=frozenset(), alias="blamed_agent")
    obeyed: dict[str, bool] = Field(default={}, exclude_if=lambda obeyed: not obeyed)
    """Maps rule ids to True if the episode obeyed the rule, or False if not. A rule without an answer is left out."""


class Evidence(LearnedRecord):
    """Counts of episodes for one rule.

    ``cited`` counts the episodes that cited the rule. Of these, ``solved`` counts the ones that were solved, and
    ``unblamed`` the ones in which the Builder did not say that the agent ignored the rule. The agent may still have
    ignored it: after a direct success (no plan code ended in an error), the Builder is not asked who is to blame.
    """

    cited: int = 0
    unblamed: int = 0
    solved: int = 0
    obedience: Obedience | None = Field(default=None, exclude_if=lambda obedience: obedience is None)
    """The counts from the rule's check, or None if there are none."""

    def __str__(self) -> str:
        measured = f"; according to its check, {self.obedience}" if self.obedience else ""
        if not self.cited:
            return f"never cited{measured}"
        episodes = "1 episode" if self.cited == 1 else f"{self.cited} episodes"
        return f"cited in {episodes} ({self.unblamed} without blame, {self.solved} solved){measured}"


NO_EVIDENCE = Evidence()
"""The evidence for a rule to which no episode has contributed."""


def count_evidence(citations: Iterable[Citation]) -> dict[str, Evidence]:
    """Return a dict from rule id to evidence. If an episode has several ``Citation`` records, only the last counts."""
    counted: dict[str, Evidence] = {}
    for citation in {citation.episode: citation for citation in citations}.values():
        for id in dict.fromkeys(citation.rule_ids):
            previous = counted.get(id, NO_EVIDENCE)
            counted[id] = Evidence(
                cited=previous.cited + 1,
                unblamed=previous.unblamed + (id not in citation.ignored_rule_ids),
                solved=previous.solved + citation.solved,
                obedience=previous.obedience,
            )
        for id, obeyed in citation.obeyed.items():
            previous = counted.get(id, NO_EVIDENCE)
            counts = (previous.obedience or Obedience()).with_episode(obeyed=obeyed, solved=citation.solved)
            counted[id] = previous.model_copy(update={"obedience": counts})
    return counted


def useless_rules(evidence: Mapping[str, Evidence]) -> dict[str, str]:
    """Return the reasons to drop rules, by rule id. Only rules whose check results give such a reason are included."""
    obedience = {id: each.obedience for id, each in evidence.items() if each.obedience}
    return {id: counts.reason_to_drop for id, counts in obedience.items() if counts.reason_to_drop}


def evidence_table(book: RuleBook, evidence: Mapping[str, Evidence]) -> str:
    """Return a text table with the evidence for every current rule."""
    evidences = [evidence.get(rule.id, NO_EVIDENCE) for rule in book.active]
    rows = [_EVIDENCE_COLUMNS, *map(_table_row, book.active, evidences)]
    if any(each.obedience for each in evidences):
        counts = [each.obedience.model_dump().values() if each.obedience else ("-",) * 4 for each in evidences]
        rows = [(*row, *map(str, cells)) for row, cells in zip(rows, [_OBEDIENCE_COLUMNS, *counts], strict=True)]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    aligned = [f"<{width}" for width in widths[:2]] + [f">{width}" for width in widths[2:]]
    lines = ("  ".join(map(format, row, aligned)).rstrip() for row in rows)
    return "".join(f"{line}\n" for line in lines)


def _table_row(rule: Rule, evidence: Evidence) -> tuple[str, ...]:
    return rule.id, rule.type or "", str(evidence.cited), str(evidence.unblamed), str(evidence.solved)


# Checks of rules.

CHECK_LIMITS = Limits(cpu_seconds=2, wall_seconds=10)
ALWAYS_UNDECIDED = (
    "the check returned None for every episode so far: make it return True or False for at least one, or leave it out"
)


class BadCheck(ValueError):
    """A check cannot be run, fails, or does not return True, False or None."""


def run_check(sandbox: Sandbox, rule_check: str, episode: Trajectory) -> bool | None:
    """Run a check. Return True if the episode obeyed the rule, False if not, and None if the rule does not apply.

    Raises BadCheck if the check cannot be run or fails.
    """
    answers: list[bool | None] = []

    def answer(value: bool | None) -> None:
        answers.append(value)

    if "def obeyed(" not in rule_check:
        raise BadCheck("the check does not define obeyed(code, steps)")
    functions, code = {"answer": answer}, f"{rule_check.rstrip()}\n\nanswer(obeyed(code, steps))\n"
    if faults := check_plan(code, functions, names=frozenset({"code", "steps"})):
        raise BadCheck(f"the check was not run: {'; '.join(map(str, faults))}")
    with sandbox.session(functions, values=_check_variables(episode), limits=CHECK_LIMITS) as session:
        result = session.run(code, "check")
    if result.faults or len(answers) != 1:
        raise BadCheck(f"the check failed on {episode.path}: {'; '.join(map(str, result.faults)) or 'no answer'}")
    return answers[0]


def check_problem(sandbox: Sandbox, rule_check: str, episodes: Iterable[Trajectory]) -> str:
    """Try a new check on the episodes played so far. Return the problem with it, or "" if it can be used.

    A check cannot be used if it fails on one of these episodes, or returns None for all of them.
    """
    try:
        answers = [run_check(sandbox, rule_check, episode) for episode in episodes]
    except BadCheck as bad:
        return str(bad)
    return "" if any(answer is not None for answer in answers) else ALWAYS_UNDECIDED


def run_checks(sandbox: Sandbox, rules: Sequence[Rule], episode: Trajectory) -> dict[str, bool]:
    """Return a dict from rule id to whether the episode obeyed the rule, judging by its check.

    A rule is left out if it has no check, if its check fails, or if it does not apply to the episode.
    """
    answers: dict[str, bool] = {}
    for rule in rules:
        try:
            answer = run_check(sandbox, rule.check, episode) if rule.check else None
        except BadCheck:
            continue
        if answer is not None:
            answers[rule.id] = answer
    return answers


def _check_variables(episode: Trajectory) -> dict[str, Any]:
    """Return the variables ``code`` and ``steps`` that a check can read (see the module's docstring)."""
    code = "\n\n".join(cell.code for round_ in episode.rounds for cell in round_.cells)
    steps = [
        {
            "action": step.action.name,
            "call": str(step.action),
            "observation": step.observation.text,
            "accepted": step.observation.accepted,
        }
        for round_ in episode.rounds
        for step in round_.steps
    ]
    return {"code": code, "steps": steps}
