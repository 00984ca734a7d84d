"""The figures of ADaPT, counted from recorded subtasks."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

from planbook.planner import Outcome
from planbook.planner.strategies.adapt.executor import DecompositionFigures
from tests.command import ROOT
from tests.flows import invoke
from tests.golden import play
from tests.rows import FAILED, SOLVED, EpisodeWriter, new_run, summary_of

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
    counts = {"claimed_and_solved": 0, "claimed_and_not": 0, "denied_and_not": 1, "unclaimed_and_solved": 2}
    assert {name: deep["claims"][name] for name in counts} == counts
    again = invoke("run", "--resume", tmp_path / "deep", "--json")
    assert "deepest level of a solved task (k_max): 2.50, by type depth_2 2.00, depth_3 3.00" in again.printed
    assert again.result["methods"]["subtasks"] == deep["methods"]["subtasks"]
    command = ("run", "--planner", "adapt", "--env", "toy", "--task", "fetch/0")
    model = ("--model", f"scripted:{ROOT}/tests/claiming.py:boastful")
    boastful = invoke(*command, *model, "--json", "--out", tmp_path / "boastful")
    assert boastful.result["claims"]["claimed_and_not"] == 1
    assert "1 claimed solved but not solved" in boastful.printed


def test_a_method_without_a_planner_prints_nothing_about_decomposition(tmp_path: Path) -> None:
    command = ("run", "--planner", "react", "--env", "toy", "--task", "fetch/0")
    model = ("--model", f"scripted:{ROOT}/tests/claiming.py:boastful")
    printed = invoke(*command, *model, "--out", tmp_path / "boastful").printed
    assert "1 claimed solved but not solved" in " ".join(printed.split())
    assert "k_max" not in printed
    (tmp_path / "solver.py").write_text(SOLVER)
    solved = invoke(*command, "--model", f"scripted:{tmp_path}/solver.py:answer", "--out", tmp_path / "solved").printed
    assert "100.0%" in solved
    assert "claim" not in solved, "the episode ended before a claim"
