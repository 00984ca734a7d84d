"""What ADaPT's figures are: read from the events of sub-tasks alone, and held against the environment's verdicts."""

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planbook.config import Config
from planbook.envs import Task
from planbook.planner import Ending, Outcome
from planbook.planner.strategies.adapt.executor import Audit, Claims, DecompositionFigures
from planbook.results.summary import Summary, summarise
from planbook.results.table import read_run
from planbook.runs import DIVERGED, Run
from tests.command import ROOT, planbook, result

EXECUTOR, PLANNER = "executor", "planner"
SOLVED, FAILED = Outcome.DIRECT_SUCCESS, Outcome.FAILURE
Said = tuple[str, int, bool | None]
"""Who, at which depth, and what was claimed."""


def read(folder: Path, episodes: Sequence[tuple[str, Outcome | None, Sequence[Said]]], path: str = "") -> Summary:
    """The summary of a run with episodes of these types, outcomes and claims; ``path`` is added to theirs."""
    tasks = [
        Task(id=f"{kind}/{number}", env="toy", split="all", type=kind, goal="g")
        for number, (kind, _, _) in enumerate(episodes)
    ]
    with closing(Run.create(folder, Config(planner="adapt", env="toy", actions=9), tasks)) as run:
        for entry, (_, outcome, said) in zip(run.entries(), episodes, strict=True):
            put(run, f"{entry.path}{path}", said)
            if outcome is not None:
                ending = Ending(outcome=outcome, cause="" if outcome.solved else outcome.value)
                run.store.put(f"{entry.path}{path}", "outcome", 0, ending.model_dump(mode="json"))
        return summarised(run)


def summarised(run: Run) -> Summary:
    return summarise(list(read_run(run).episodes.values()), 1.0, str(run.folder))


def put(run: Run, path: str, said: Sequence[Said]) -> None:
    for number, (by, depth, done) in enumerate(said):
        body: dict[str, Any] = {"by": by, "text": f"part {number}", "depth": depth, "done": done, "note": ""}
        run.store.put(f"{path}/round/0/{by}/{number}", "subtask", 0, body)


def figures(summary: Summary) -> DecompositionFigures:
    found = summary.methods["subtasks"]
    assert isinstance(found, DecompositionFigures)
    return found


def test_claims_of_whole_tasks_are_compared_with_the_verdict(tmp_path: Path) -> None:
    boasted = ("a", FAILED, [(EXECUTOR, 1, True)])
    right = ("a", SOLVED, [(EXECUTOR, 1, True)])
    modest = ("a", SOLVED, [(EXECUTOR, 1, False)])
    put_together = ("a", FAILED, [(EXECUTOR, 1, False), (EXECUTOR, 2, True), (PLANNER, 1, True)])
    ended = ("a", SOLVED, [(EXECUTOR, 1, False), (EXECUTOR, 2, None), (PLANNER, 1, None)])
    cut = ("a", Outcome.OUT_OF_BUDGET, [(EXECUTOR, 1, None)])
    broken = ("a", Outcome.BROKEN, [(EXECUTOR, 1, True)])
    unplayed: tuple[str, Outcome | None, list[Said]] = ("a", None, [])
    found = figures(read(tmp_path / "run", [boasted, right, modest, put_together, ended, cut, broken, unplayed]))
    solved, not_solved = Claims(done=1, failed=1, none=1), Claims(done=2, failed=0, none=1)
    assert found.audit == Audit(solved=solved, not_solved=not_solved, unplayed=2)
    assert found.claimed_rate == pytest.approx((1 + 2 + 1) / 8)
    assert found.judged_rate == pytest.approx(3 / 8)
    assert found.executor_claims == Claims(done=4, failed=3, none=2)
    assert found.planner_claims == Claims(done=1, failed=0, none=1)


def test_of_several_rounds_the_last_claim_counts(tmp_path: Path) -> None:
    found = figures(read(tmp_path / "run", [("a", FAILED, [(EXECUTOR, 1, True), (EXECUTOR, 1, False)])]))
    assert found.audit.not_solved == Claims(failed=1)


def test_depths_count_where_the_task_was_solved_and_calls_wherever_it_was_played(tmp_path: Path) -> None:
    deep = [(EXECUTOR, 1, False), (EXECUTOR, 2, False), (EXECUTOR, 3, None), (PLANNER, 2, None), (PLANNER, 1, None)]
    episodes: Any = [
        ("a", SOLVED, deep),
        ("a", SOLVED, [(EXECUTOR, 1, None)]),
        ("a", FAILED, [(EXECUTOR, 4, False)]),
        ("b", FAILED, [(EXECUTOR, 1, False)]),
        ("b", None, [(EXECUTOR, 1, True), (PLANNER, 1, None)]),
    ]
    found = figures(read(tmp_path / "run", episodes))
    assert (found.k_max, found.k_max_by_type) == (2.0, {"a": 2.0, "b": None})
    assert (found.executor_calls, found.planner_calls) == (7, 3), "the total has what was not played to its end"
    assert (found.mean_executor_calls, found.mean_planner_calls) == (1.5, 0.5)
    assert found.mean_calls_by_type == {"a": (1.67, 0.67), "b": (1.0, 0.0)}


def test_of_an_episode_that_was_started_over_the_last_play_counts(tmp_path: Path) -> None:
    task = Task(id="a/0", env="toy", split="all", type="a", goal="g")
    with closing(Run.create(tmp_path / "run", Config(planner="adapt", env="toy", actions=9), [task])) as run:
        put(run, "task/0", [(EXECUTOR, 1, True)] * 3)
        diverged = Ending(outcome=Outcome.BROKEN, cause=DIVERGED)
        run.store.put("task/0", "outcome", 0, diverged.model_dump(mode="json"))
        put(run, "task/0/restart/1", [(EXECUTOR, 1, False)])
        ending = Ending(outcome=FAILED, cause="unfinished")
        run.store.put("task/0/restart/1", "outcome", 0, ending.model_dump(mode="json"))
        found = figures(summarised(run))
    assert found.executor_calls == 1
    assert found.audit.not_solved == Claims(failed=1)


def test_a_run_without_sub_tasks_has_no_such_figures(tmp_path: Path) -> None:
    assert read(tmp_path / "run", [("a", SOLVED, [])]).methods == {}


def test_the_command_prints_what_the_store_says(tmp_path: Path) -> None:
    model = f"scripted:{ROOT / 'tests' / 'subtasking.py'}"
    command = ["run", "--planner", "adapt", "--env", "toy", "--types", "fetch_two", "--actions", "90", "--json"]
    finished = planbook(*command, "--model", f"{model}:answer", "--out", tmp_path / "deep")
    assert finished.returncode == 0, finished.stderr
    deep = result(finished)
    assert deep["solved"] == 5
    assert deep["subtasks"]["k_max"] == 3.0
    assert deep["subtasks"]["audit"]["solved"] == {"done": 0, "failed": 0, "none": 5}
    assert "deepest level of a solved task (k_max): 3.0, by type fetch_two 3.0" in finished.stderr
    finished = planbook(*command, "--model", f"{model}:boastful", "--out", tmp_path / "boastful")
    boastful = result(finished)
    assert (boastful["solved"], boastful["subtasks"]["audit"]["not_solved"]["done"]) == (0, 5)
    assert "Solved as claimed 100.0%, as judged 0.0%;" in finished.stderr
    again = planbook("run", "--resume", tmp_path / "deep", "--json")
    assert result(again)["subtasks"] == deep["subtasks"]
