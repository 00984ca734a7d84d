"""The figures of ADaPT, counted from recorded subtasks and compared with the environment's verdicts."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import pytest

from planbook.planner import Outcome
from planbook.planner.strategies.adapt.executor import Audit, Claims, DecompositionFigures
from tests.command import ROOT
from tests.flows import invoke
from tests.golden import play
from tests.rows import BROKEN, FAILED, SOLVED, EpisodeWriter, new_run, summary_of

EXECUTOR, PLANNER = "executor", "planner"
Claim = tuple[str, int, bool | None]
"""The role, the depth, and whether the role claimed that the subtask is done (None if it made no claim)."""

SOLVER = """
def answer(messages, sampling):
    code = [f"agent.open('box_{number}')" for number in range(1, 9)]
    for box in range(1, 9):
        code += [f"agent.take('apple', 'box_{box}')"]
    return "```python\\n" + "\\n".join([*code, "agent.put('apple')"]) + "\\n```"
"""


def figures(folder: Path, *episodes: tuple[str, Outcome | None, Sequence[Claim]]) -> DecompositionFigures:
    """Return the figures of a run with episodes of these types, outcomes and claims."""
    with closing(new_run(folder, *(kind for kind, _, _ in episodes))) as run:
        for entry, (_, outcome, claims) in zip(run.entries(), episodes, strict=True):
            writer = EpisodeWriter(run, entry.path)
            for number, (by, depth, done) in enumerate(claims):
                body = {"by": by, "text": f"part {number}", "depth": depth, "done": done, "note": ""}
                writer.put(f"{writer.scope}/{by}/{number}", "subtask", body)
            writer.end(outcome)
        found = summary_of(run).methods["subtasks"]
    assert isinstance(found, DecompositionFigures)
    return found


def test_the_last_claim_about_a_whole_task_is_compared_with_the_verdict(tmp_path: Path) -> None:
    found = figures(
        tmp_path / "run",
        ("a", FAILED, [(EXECUTOR, 1, False), (EXECUTOR, 1, True)]),
        ("a", SOLVED, [(EXECUTOR, 1, True)]),
        ("a", SOLVED, [(EXECUTOR, 1, False)]),
        ("a", FAILED, [(EXECUTOR, 1, False), (EXECUTOR, 2, True), (PLANNER, 1, True)]),
        ("a", SOLVED, [(EXECUTOR, 1, False), (EXECUTOR, 2, None), (PLANNER, 1, None)]),
        ("a", Outcome.OUT_OF_BUDGET, [(EXECUTOR, 1, None)]),
        ("a", BROKEN, [(EXECUTOR, 1, True)]),
        ("a", None, []),
    )
    solved, not_solved = Claims(done=1, failed=1, none=1), Claims(done=2, failed=0, none=1)
    assert found.audit == Audit(solved=solved, not_solved=not_solved, unplayed=2)
    assert found.claimed_rate == pytest.approx((1 + 2 + 1) / 8)
    assert found.judged_rate == pytest.approx(3 / 8)
    assert {
        "Solved tasks: 1 claimed done, 1 counted as failed, 1 without a claim.",
        "Unsolved tasks: 2 claimed done, 0 counted as failed, 1 without a claim; 2 broken or not played.",
    } <= {*found.describe()}


def test_depths_are_counted_in_solved_episodes_and_calls_in_played_ones(tmp_path: Path) -> None:
    deep = [(EXECUTOR, 1, False), (EXECUTOR, 2, False), (EXECUTOR, 3, None), (PLANNER, 2, None), (PLANNER, 1, None)]
    found = figures(
        tmp_path / "run",
        ("a", SOLVED, deep),
        ("a", SOLVED, [(EXECUTOR, 1, None)]),
        ("a", FAILED, [(EXECUTOR, 4, False)]),
        ("b", FAILED, [(EXECUTOR, 1, False)]),
        ("b", None, [(EXECUTOR, 1, True), (PLANNER, 1, None)]),
    )
    assert (found.k_max, found.k_max_by_type) == (2.0, {"a": 2.0, "b": None})
    assert (found.mean_executor_calls, found.mean_planner_calls) == (1.5, 0.5)


def test_a_run_prints_and_returns_the_figures(tmp_path: Path) -> None:
    deep = play("adapt-textcraft-stepwise", tmp_path / "deep")
    assert (deep["solved"], deep["methods"]["subtasks"]["k_max"]) == (2, 2.5)
    assert deep["methods"]["subtasks"]["audit"]["solved"] == {"done": 0, "failed": 0, "none": 2}
    again = invoke("run", "--resume", tmp_path / "deep", "--json")
    assert "deepest level of a solved task (k_max): 2.50, by type depth_2 2.00, depth_3 3.00" in again.printed
    assert again.result["methods"]["subtasks"] == deep["methods"]["subtasks"]
    command = ("run", "--planner", "adapt", "--env", "toy", "--task", "fetch/0")
    model = ("--model", f"scripted:{ROOT}/tests/claiming.py:boastful")
    boastful = invoke(*command, *model, "--json", "--out", tmp_path / "boastful")
    assert boastful.result["methods"]["subtasks"]["audit"]["not_solved"]["done"] == 1
    assert "Solved according to the claims: 100.0%; according to the environment: 0.0%;" in boastful.printed


def test_a_method_without_a_planner_prints_nothing_about_decomposition(tmp_path: Path) -> None:
    command = ("run", "--planner", "react", "--env", "toy", "--task", "fetch/0")
    model = ("--model", f"scripted:{ROOT}/tests/claiming.py:boastful")
    printed = invoke(*command, *model, "--out", tmp_path / "boastful").printed
    assert "Unsolved tasks: 1 claimed done, " in " ".join(printed.split())
    assert "k_max" not in printed
    (tmp_path / "solver.py").write_text(SOLVER)
    solved = invoke(*command, "--model", f"scripted:{tmp_path}/solver.py:answer", "--out", tmp_path / "solved").printed
    assert "100.0%" in solved
    assert "claim" not in solved, "the episode ended before a claim"
