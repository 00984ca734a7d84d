"""`planbook stats`, on played runs of the toy environment, and on runs that the test writes."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planbook import errors
from planbook.config import LearningSettings
from planbook.planner import Ending
from planbook.runs import Run
from tests.command import planbook
from tests.flows import invoke
from tests.rows import BROKEN, FAILED, SOLVED, toy_run, write_run

PLAN = "for box in boxes:\n    agent.open(box)\n" * 17


def stats(*arguments: object) -> tuple[int, Any, str]:
    finished = invoke("stats", *arguments, "--json")
    return finished.returncode, finished.result, finished.printed


def test_stats_has_a_row_for_each_run_below_a_folder(tmp_path: Path) -> None:
    toy_run(tmp_path / "runs" / "a", "procedures")
    toy_run(tmp_path / "runs" / "below" / "b", "automanual")
    code, found, printed = stats(tmp_path / "runs")
    assert code == errors.OK
    procedures, automanual = found["rows"]
    assert [Path(row["name"]).name for row in found["rows"]] == ["a", "b"]
    assert (procedures["tasks"], procedures["solved"], procedures["unplayed_by_type"]) == (12, 12, {})
    assert procedures["model_calls"] == 0
    assert automanual["model_calls"] > 0
    assert f"Names of runs are relative to {tmp_path}" in printed


def test_stats_groups_runs_by_settings_with_spread_and_repeats(tmp_path: Path) -> None:
    write_run(tmp_path / "a", [SOLVED, FAILED, SOLVED, SOLVED], repeats=2, seed=1)
    write_run(tmp_path / "b", [FAILED, FAILED, FAILED, FAILED], repeats=2, seed=2)
    write_run(tmp_path / "c", [SOLVED, BROKEN, None, FAILED], repeats=2, planner="naive")
    code, found, printed = stats(tmp_path, "--by", "planner,env")
    assert code == errors.OK
    procedures, naive = found["rows"]
    assert procedures["name"] == "planner=procedures, env=toy"
    assert (procedures["solved"], procedures["tasks"], procedures["share_mean"]) == (3, 8, 3 / 8)
    assert procedures["share_sd"] == pytest.approx(0.5303, abs=1e-4)
    assert (naive["tasks"], naive["unplayed_by_type"]) == (4, {"fetch": [1, 1]})
    assert procedures["interval"][0] < 3 / 8 < procedures["interval"][1]
    assert naive["interval"] is None, "no interval over episodes that were not played"
    (pooled,) = stats(tmp_path, "--by", "env")[1]["rows"]
    assert (pooled["solved"], pooled["share_mean"], pooled["share_sd"]) == (4, None, None)
    assert "over 2 runs, the mean share solved is 37.5% ± 53.0%" in printed


def test_stats_names_the_settings_in_which_pooled_runs_differ(tmp_path: Path) -> None:
    write_run(tmp_path / "a", [SOLVED], seed=1)
    write_run(tmp_path / "b", [FAILED], seed=2, actions=20, planner_options={"code": PLAN})
    _, found, printed = stats(tmp_path, "--by", "planner")
    assert found["rows"][0]["differ"] == ["actions", "planner_options.code"]
    assert "the pooled runs differ in actions, planner_options.code" in printed


def test_a_misspelt_setting_is_refused_with_the_nearest_one(tmp_path: Path) -> None:
    write_run(tmp_path / "a", [SOLVED])
    assert "did you mean planner" in invoke("stats", tmp_path, "--by", "planer").printed


def test_stats_names_unreadable_folders_and_reads_the_others(tmp_path: Path) -> None:
    good, bad, empty = write_run(tmp_path / "good", [SOLVED]), tmp_path / "bad", tmp_path / "empty"
    bad.mkdir()
    empty.mkdir()
    (bad / "run.json").write_text("{")
    code, found, printed = stats(good, bad, empty)
    assert code == errors.OK
    assert len(found["rows"]) == 1
    assert sorted(map(Path, found["unreadable"])) == [bad, empty]
    assert f"there is no run in {empty} or below it" in printed
    assert planbook("stats", bad, empty).returncode == errors.BAD_INPUT


def test_stats_marks_building_runs_and_reports_contradictory_outcomes(tmp_path: Path) -> None:
    folder = write_run(tmp_path / "built", [SOLVED, FAILED], learning=LearningSettings())
    with closing(Run.open(folder, to_play=True)) as run:
        run.store.put("task/1/restart/1", "outcome", 0, Ending(outcome=SOLVED).model_dump(mode="json"))
        run.store.put("task/7", "outcome", 0, Ending(outcome=FAILED, cause="x").model_dump(mode="json"))
        run.store.put("learn/8", "learned", 0, {"knowledge": {}})
    code, found, printed = stats(folder)
    assert code == errors.BROKEN
    assert found["contradictions"] == {
        str(folder): [
            "fetch/1: the outcome is direct_success, but the verdict says not solved",
            "task/7: an outcome of a task that the run does not list",
        ]
    }
    assert "built (building)" in printed
    assert found["rows"][0]["building"]


def test_the_row_of_one_run_has_the_figures_of_its_summary(tmp_path: Path) -> None:
    folder = tmp_path / "run"
    played = invoke(
        "run", "--env", "crafter", "--planner", "random", "--seeds", "1", "--actions", "30", "--out", folder, "--json"
    )
    (row,) = invoke("stats", folder, "--json").result["rows"]
    for key in ("unlock_score", "milestones", "measures", "unjudgeable", "methods"):
        assert row[key] == played.result[key]
    assert row["unlock_score"] is not None
