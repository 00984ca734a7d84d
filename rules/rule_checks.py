"""Checks of rules: code that decides whether an episode obeyed a rule. The AutoManual paper has no checks.

A check defines ``obeyed(code, steps)``, which returns True or False, or None if the rule does not apply to the episode.
``code`` is all plan code of the episode. ``steps`` lists the episode's actions, each as a dict with the keys ``action``
(its name), ``call`` (such as ``go_to('desk')``), ``observation`` and ``accepted``.
"""

from collections.abc import Iterable, Sequence
from typing import Any

from planbook.planner import Trajectory
from planbook.rules.types import Rule
from planbook.sandbox import Limits, Sandbox, check

LIMITS = Limits(cpu_seconds=2, wall_seconds=10)
CHECK_CALL = "\n\nanswer(obeyed(code, steps))\n"
NO_FUNCTION = "the check does not define obeyed(code, steps)"
DECIDES_NOTHING = "the check returned None for every episode so far: make it decide on one at least, or leave it out"


class BadCheck(ValueError):
    """A check cannot be run, fails, or does not return True, False or None."""


def obeyed(sandbox: Sandbox, rule_check: str, episode: Trajectory) -> bool | None:
    """Run a check. Return whether the episode obeyed the rule, or None if the rule does not apply to the episode.

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
    """Try a new check on the episodes played so far. Return what is wrong with the check, or "" if it can be used.

    A check is wrong if it fails on one of these episodes, or if it returns None for all of them.
    """
    try:
        answers = [obeyed(sandbox, rule_check, episode) for episode in episodes]
    except BadCheck as bad:
        return str(bad)
    return "" if any(answer is not None for answer in answers) else DECIDES_NOTHING


def rules_obeyed(sandbox: Sandbox, rules: Sequence[Rule], episode: Trajectory) -> dict[str, bool]:
    """Return a dict that maps the id of each rule to whether the episode obeyed the rule.

    A rule is left out if it has no check, if its check fails, or if it does not apply to the episode.
    """
    answers: dict[str, bool] = {}
    for rule in rules:
        try:
            answer = obeyed(sandbox, rule.check, episode) if rule.check else None
        except BadCheck:  # a check that fails does not tell whether the episode obeyed the rule
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
