"""Checks of rules, beyond the paper: plan code that decides whether an episode followed a rule.

A check defines ``obeyed(code, steps)``. ``code`` is all plan code of the episode. ``steps`` are its actions in order,
each a dict of ``action`` (its name), ``call`` (such as ``go_to('desk')``), ``observation`` and ``accepted``. It returns
True, False, or None if the rule does not apply.
"""

from collections.abc import Iterable, Sequence
from math import comb
from typing import Any

from planbook.planner import Trajectory
from planbook.rules.types import Learned, Rule
from planbook.sandbox import Limits, Sandbox, check

MIN_EPISODES = 5
"""Number of episodes, none of which obeyed a rule, from which the rule counts as never obeyed."""
SIGNIFICANCE = 0.05
"""P value below which a difference counts as more than noise."""
LIMITS = Limits(cpu_seconds=2, wall_seconds=10)
CHECK_CALL = "\n\nanswer(obeyed(code, steps))\n"
NO_FUNCTION = "the check does not define obeyed(code, steps)"
DECIDES_NOTHING = "the check returned None for every episode so far: make it decide on one at least, or leave it out"


class Obedience(Learned):
    """Counts of the episodes to which a rule's check applies: those that obeyed it, and the others."""

    obeyed: int = 0
    obeyed_solved: int = 0
    others: int = 0
    others_solved: int = 0

    def __str__(self) -> str:
        obeyed = f"obeyed in {self.obeyed} of {self.obeyed + self.others} episodes, {self.obeyed_solved} of them solved"
        others = f"{self.others_solved} of the other {self.others} solved"
        return f"{obeyed}, {others}{f': {self.why_useless}' if self.why_useless else ''}"

    @property
    def why_useless(self) -> str:
        """The reason why the rule may be dropped; empty if it may help, or if there are too few episodes."""
        if not self.obeyed:
            return "never obeyed" if self.others >= MIN_EPISODES else ""
        return f"fewer are solved where it is obeyed (p = {self.p_fewer:.2g})" if self.p_fewer < SIGNIFICANCE else ""

    @property
    def p_fewer(self) -> float:
        """The p value of so few solved episodes among those that obeyed the rule (Fisher's exact test, one-sided)."""
        solved = self.obeyed_solved + self.others_solved
        least = max(0, solved - self.others)
        ways = (comb(self.obeyed, n) * comb(self.others, solved - n) for n in range(least, self.obeyed_solved + 1))
        return sum(ways) / comb(self.obeyed + self.others, solved)

    @property
    def cells(self) -> tuple[str, ...]:
        """The counts as cells of a table."""
        return tuple(map(str, (self.obeyed, self.obeyed_solved, self.others, self.others_solved)))

    def after(self, *, obeyed: bool, solved: bool) -> "Obedience":
        """Return the counts with one more episode."""
        return Obedience(
            obeyed=self.obeyed + obeyed,
            obeyed_solved=self.obeyed_solved + (obeyed and solved),
            others=self.others + (not obeyed),
            others_solved=self.others_solved + (solved and not obeyed),
        )


class BadCheck(ValueError):
    """A check that does not run, or does not return True, False or None."""


def obeyed(sandbox: Sandbox, rule_check: str, episode: Trajectory) -> bool | None:
    """Return whether an episode followed the rule with this check; None if the rule does not apply. Raises BadCheck."""
    answers: list[bool | None] = []

    def answer(value: bool | None) -> None:
        answers.append(value)

    if "def obeyed(" not in rule_check:
        raise BadCheck(NO_FUNCTION)
    functions, code = {"answer": answer}, f"{rule_check.rstrip()}{CHECK_CALL}"
    if faults := check(code, functions, names=frozenset({"code", "steps"})):
        raise BadCheck(f"the check was not run: {'; '.join(map(str, faults))}")
    with sandbox.session(functions, values=_values(episode), limits=LIMITS) as session:
        result = session.run(code, "check")
    if result.faults or len(answers) != 1:
        raise BadCheck(f"the check failed on {episode.path}: {'; '.join(map(str, result.faults)) or 'no answer'}")
    return answers[0]


def check_problem(sandbox: Sandbox, rule_check: str, episodes: Iterable[Trajectory]) -> str:
    """Try a new check on the episodes so far; return its problem, or "" if it can be used."""
    try:
        answers = [obeyed(sandbox, rule_check, episode) for episode in episodes]
    except BadCheck as bad:
        return str(bad)
    return "" if any(answer is not None for answer in answers) else DECIDES_NOTHING


def rules_obeyed(sandbox: Sandbox, rules: Sequence[Rule], episode: Trajectory) -> dict[str, bool]:
    """Return whether an episode followed each rule, by id; only rules with a check that applies to it."""
    answers: dict[str, bool] = {}
    for rule in rules:
        try:
            answer = obeyed(sandbox, rule.check, episode) if rule.check else None
        except BadCheck:  # It says nothing about the episode.
            continue
        if answer is not None:
            answers[rule.id] = answer
    return answers


def _values(episode: Trajectory) -> dict[str, Any]:
    code = "\n\n".join(cell.code for played in episode.rounds for cell in played.cells)
    steps = [
        {
            "action": step.action.name,
            "call": str(step.action),
            "observation": step.observation.text,
            "accepted": step.observation.accepted,
        }
        for played in episode.rounds
        for step in played.steps
    ]
    return {"code": code, "steps": steps}
