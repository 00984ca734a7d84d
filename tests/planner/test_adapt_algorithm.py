"""ADaPT's controller is compared with algorithm 1 of the paper, and its reports to executors with appendix A."""

from collections.abc import Iterator
from itertools import count
from random import Random
from typing import Any, cast

from hypothesis import given, settings
from hypothesis import strategies as st

from planbook.planner import Episode
from planbook.sandbox import Sandbox
from tests.planner.episode_kit import GOAL, SubtaskModels, code, journal_of, plan_reply, played, touch_report

Call = tuple[str, str, int, str]
"""The role that is asked, its subtask, the depth, and the report on earlier subtasks."""


class RandomOutcomes:
    """Random plans and outcomes of subtasks. The executor always fails at the whole task."""

    def __init__(self, seed: int) -> None:
        self._seed = seed

    def does(self, work: str) -> tuple[bool, bool]:
        """Return whether the executor acts, and whether it claims success."""
        rng = Random(f"{self._seed}/does/{work}")
        return rng.random() < 0.8, rng.random() < 0.6 and work != GOAL

    def logic(self, work: str) -> Any:
        """Return the number of a step, or an operator with its operands, such as ``("OR", ("AND", 1, 2), 3)``."""
        return self._drawn(Random(f"{self._seed}/logic/{work}"), count(1), 2)

    def _drawn(self, rng: Random, numbers: Iterator[int], deep: int) -> Any:
        if deep == 0 or rng.random() < 0.2:
            return next(numbers)
        return (rng.choice(("AND", "OR")), *(self._drawn(rng, numbers, deep - 1) for _ in range(2)))


def step(work: str, number: int) -> str:
    return f"{'w' if work == GOAL else work}.{number}"


def algorithm(outcomes: RandomOutcomes, d_max: int) -> list[Call]:
    """Return the calls that algorithm 1 makes, written as a plain recursion.

    The inner functions return the report for the next executor, or None after a failure.
    """
    calls: list[Call] = []

    def adapt(work: str, depth: int, before: str) -> str | None:
        calls.append(("executor", work, depth, before))
        acts, done = outcomes.does(work)
        if done:
            return touch_report(work) if acts else before
        if depth == d_max:
            return None
        calls.append(("planner", work, depth, ""))
        return combined(outcomes.logic(work), work, depth + 1, before)

    def combined(logic: Any, work: str, depth: int, before: str) -> str | None:
        if isinstance(logic, int):
            return adapt(step(work, logic), depth, before)
        word, *parts = logic
        for part in parts:
            after = combined(part, work, depth, before)
            if (after is None) == (word == "AND"):
                return after
            before = before if after is None else after
        return before if word == "AND" else None

    adapt(GOAL, 1, "")
    return calls


class RandomModels(SubtaskModels):
    """Models whose plans and claims are those of the random outcomes."""

    def __init__(self, outcomes: RandomOutcomes) -> None:
        super().__init__()
        self._outcomes = outcomes

    def _reply(self, role: str, work: str) -> str:
        if role == "executor":
            acts, done = self._outcomes.does(work)
            return code(f"agent.touch({work!r})" if acts else "", f"finish({done})")
        steps: list[str] = []
        order = self._order(self._outcomes.logic(work), work, steps)
        return plan_reply(order, *steps)

    def _order(self, logic: Any, work: str, steps: list[str]) -> str:
        """Return the execution order of a plan as text, and append its steps to ``steps``."""
        if isinstance(logic, int):
            steps.append(step(work, logic))
            return f"S{logic}"
        word, *parts = logic
        return f"({f' {word} '.join(self._order(part, work, steps) for part in parts)})"


def calls_in_journal(playing: Episode) -> list[Call]:
    """Return the calls that the journal of an episode holds."""
    calls = []
    for (scope, kind, _), body in journal_of(playing).events.items():
        if kind == "ask":
            known = cast(dict[str, Any], body)
            role, prompt = known["role"], known["messages"][-1]["content"]
            before = prompt.partition("# Current situation\n\n")[2].partition("\n\n# Your subtask")[0]
            work = prompt.partition("# Your subtask\n\n")[2].partition("\n\nYou have")[0]
            work = work or prompt.partition("# The subtask to divide\n\n")[2]
            calls.append((role, work, scope.count("/plan/") + (role == "executor"), before))
    return calls


@settings(max_examples=30)
@given(st.integers(0, 10**6), st.integers(1, 4))
def test_the_controller_is_the_algorithm_of_the_paper(sandbox: Sandbox, seed: int, d_max: int) -> None:
    outcomes = RandomOutcomes(seed)
    _, playing = played(sandbox, RandomModels(outcomes), options={"d_max": d_max}, actions=1000)
    assert calls_in_journal(playing) == algorithm(outcomes, d_max)
