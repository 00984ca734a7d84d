"""Checks of rules: code that decides whether an episode followed a rule. The AutoManual paper has no such code.

A check defines ``obeyed(code, steps)``, which returns True, False, or None if the rule does not apply. ``code`` is all
plan code of the episode. ``steps`` lists its actions, each as a dict with the keys ``action`` (its name), ``call``
(such as ``go_to('desk')``), ``observation`` and ``accepted``.
"""

from collections.abc import Iterable, Sequence
from math import comb
from typing import Any

from planbook.planner import Trajectory
from planbook.rules.types import Learned, Rule
from planbook.sandbox import Limits, Sandbox, check

MIN_EPISODES = 5
"""A rule is reported as never obeyed only after this many episodes in which it applied."""
SIGNIFICANCE = 0.05
"""A difference counts as significant if its p value is below this."""
LIMITS = Limits(cpu_seconds=2, wall_seconds=10)
CHECK_CALL = "\n\nanswer(obeyed(code, steps))\n"
NO_FUNCTION = "the check does not define obeyed(code, steps)"
DECIDES_NOTHING = "the check returned None for every episode so far: make it decide on one at least, or leave it out"


class Obedience(Learned):
    """Counts of the episodes to which a rule's check applies: those that obeyed the rule, and the ``others``."""

    obeyed: int = 0
    obeyed_solved: int = 0
    others: int = 0
    others_solved: int = 0

    def __str__(self) -> str:
        obeyed = f"obeyed in {self.obeyed} of {self.obeyed + self.others} episodes, {self.obeyed_solved} of them solved"
        others = f"{self.others_solved} of the other {self.others} solved"
        return f"{obeyed}, {others}{f': {self.useless_reason}' if self.useless_reason else ''}"

    @property
    def useless_reason(self) -> str:
        """The reason why the rule may be dropped, or "" if it may help or if there are too few episodes to tell."""
        if not self.obeyed:
            return "never obeyed" if self.others >= MIN_EPISODES else ""
        return f"fewer are solved where it is obeyed (p = {self.p_value:.2g})" if self.p_value < SIGNIFICANCE else ""

    @property
    def p_value(self) -> float:
        """The p value of the hypothesis that obeying the rule does no harm (Fisher's exact test, one-sided).

        It is small if surprisingly few of the episodes that obeyed the rule were solved.
        """
        solved = self.obeyed_solved + self.others_solved
        least = max(0, solved - self.others)
        ways = (comb(self.obeyed, n) * comb(self.others, solved - n) for n in range(least, self.obeyed_solved + 1))
        return sum(ways) / comb(self.obeyed + self.others, solved)

    @property
    def cells(self) -> tuple[str, ...]:
        """The counts as cells of a table."""
        return tuple(map(str, (self.obeyed, self.obeyed_solved, self.others, self.others_solved)))

    def with_episode(self, *, obeyed: bool, solved: bool) -> "Obedience":
        """Return the counts with one more episode."""
        return Obedience(
            obeyed=self.obeyed + obeyed,
            obeyed_solved=self.obeyed_solved + (obeyed and solved),
            others=self.others + (not obeyed),
            others_solved=self.others_solved + (solved and not obeyed),
        )


class BadCheck(ValueError):
    """A check fails to run, or does not return True, False or None."""


def obeyed(sandbox: Sandbox, rule_check: str, episode: Trajectory) -> bool | None:
    """Return whether an episode followed the rule with this check, or None if the rule does not apply.

    Raises BadCheck if the check fails.
    """
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
    """Try a new check on the episodes so far. Return the problem with the check, or "" if it can be used."""
    try:
        answers = [obeyed(sandbox, rule_check, episode) for episode in episodes]
    except BadCheck as bad:
        return str(bad)
    return "" if any(answer is not None for answer in answers) else DECIDES_NOTHING


def rules_obeyed(sandbox: Sandbox, rules: Sequence[Rule], episode: Trajectory) -> dict[str, bool]:
    """Return a dict that maps the id of a rule to True if the episode followed it.

    Rules without a check, or with a check that fails or does not apply to the episode, are left out.
    """
    answers: dict[str, bool] = {}
    for rule in rules:
        try:
            answer = obeyed(sandbox, rule.check, episode) if rule.check else None
        except BadCheck:  # a failed check says nothing about the episode
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
