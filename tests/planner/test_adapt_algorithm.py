"""ADaPT's controller is compared with algorithm 1 of the paper, and its reports to executors with appendix A."""

from collections.abc import Iterator
from itertools import count
from random import Random
from typing import Any, cast

from hypothesis import given, settings, strategies as st

from planbook.planner import Episode
from planbook.sandbox import Sandbox
from tests.planner.episode_kit import (
    GOAL,
    SubtaskModels,
    TouchToy,
    code,
    journal_of,
    plan_reply,
    played,
    touch_report,
)

Call = tuple[str, str, int, str]
"""A request: the role that is asked, its subtask, the depth, and the report on earlier subtasks."""


class RandomOutcomes:
    """Random plans and outcomes of subtasks. The executor always fails at the whole task."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def outcome_of(self, subtask: str) -> tuple[bool, bool]:
        """Return whether the executor acts, and whether it claims success."""
        rng = Random(f"{self._seed}/does/{subtask}")
        return rng.random() < 0.8, rng.random() < 0.6 and subtask != GOAL

    def logic(self, subtask: str) -> Any:
        """Return the number of a step, or an operator with its operands, such as ``("OR", ("AND", 1, 2), 3)``."""
        return self._drawn(Random(f"{self._seed}/logic/{subtask}"), count(1), 2)

    def _drawn(self, rng: Random, numbers: Iterator[int], levels: int) -> Any:
        if levels == 0 or rng.random() < 0.2:
            return next(numbers)
        return (rng.choice(("AND", "OR")), *(self._drawn(rng, numbers, levels - 1) for _ in range(2)))


def step(subtask: str, number: int) -> str:
    return f"{'w' if subtask == GOAL else subtask}.{number}"


def algorithm(outcomes: RandomOutcomes, d_max: int) -> list[Call]:
    """Return the calls that algorithm 1 makes, written as a plain recursion.

    The inner functions return the report for the next executor, or None after a failure.
    """
    calls: list[Call] = []

    def adapt(subtask: str, depth: int, report: str) -> str | None:
        calls.append(("executor", subtask, depth, report))
        acts, done = outcomes.outcome_of(subtask)
        if done:
            return touch_report(subtask) if acts else report
        if depth == d_max:
            return None
        calls.append(("planner", subtask, depth, ""))
        return combined(outcomes.logic(subtask), subtask, depth + 1, report)

    def combined(logic: Any, subtask: str, depth: int, report: str) -> str | None:
        if isinstance(logic, int):
            return adapt(step(subtask, logic), depth, report)
        word, *parts = logic
        for part in parts:
            next_report = combined(part, subtask, depth, report)
            if (next_report is None) == (word == "AND"):
                return next_report
            report = report if next_report is None else next_report
        return report if word == "AND" else None

    adapt(GOAL, 1, "")
    return calls


class RandomModels(SubtaskModels):
    """Models whose plans and claims are those of the random outcomes."""

    def __init__(self, outcomes: RandomOutcomes) -> None:
        super().__init__()
        self._outcomes = outcomes

    def _reply(self, role: str, subtask: str) -> str:
        if role == "executor":
            acts, done = self._outcomes.outcome_of(subtask)
            return code(f"agent.touch({subtask!r})" if acts else "", f"finish({done})")
        steps: list[str] = []
        order = self._order(self._outcomes.logic(subtask), subtask, steps)
        return plan_reply(order, *steps)

    def _order(self, logic: Any, subtask: str, steps: list[str]) -> str:
        """Return the execution order of a plan as text, and append its steps to ``steps``."""
        if isinstance(logic, int):
            steps.append(step(subtask, logic))
            return f"S{logic}"
        word, *parts = logic
        return f"({f' {word} '.join(self._order(part, subtask, steps) for part in parts)})"


def calls_in_journal(playing: Episode) -> list[Call]:
    """Return the calls that the journal of an episode holds."""
    calls = []
    for (scope, kind, _), body in journal_of(playing).events.items():
        if kind == "ask":
            known = cast(dict[str, Any], body)
            role, prompt = known["role"], known["messages"][-1]["content"]
            report = prompt.partition("# Current situation\n\n")[2].partition("\n\n# Your subtask")[0]
            subtask = prompt.partition("# Your subtask\n\n")[2].partition("\n\nYou have")[0]
            subtask = subtask or prompt.partition("# The subtask to divide\n\n")[2]
            calls.append((role, subtask, scope.count("/plan/") + (role == "executor"), report))
    return calls


class Stateless(TouchToy):
    """An environment in which a report is only the last action, even if others have acted since."""

    def state(self) -> str:
        return ""


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 4), st.booleans())
def test_the_controller_is_the_algorithm_of_the_paper(
    sandbox: Sandbox, seed: int, d_max: int, restore_failed: bool
) -> None:
    outcomes, options = RandomOutcomes(seed), {"d_max": d_max, "restore_failed": restore_failed}
    models = RandomModels(outcomes)
    _, playing = played(sandbox, models, options=options, environment=Stateless(), actions=1000)
    assert calls_in_journal(playing) == algorithm(outcomes, d_max)
