"""Whether learning pays: what a solved task cost with learning included, beside the same model without knowledge."""

import shutil
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planbook.planner import Spent
from planbook.report.charts import charts
from planbook.results.learning_cost import Paying
from planbook.results.table import read_run
from planbook.runs import Run
from tests.flows import here, scripted

CHART = "Tokens per solved task so far, with learning"
TEST = ("test", "--env", "toy", "--model", scripted(), "--procedures-first")


@pytest.fixture(scope="module")
def runs(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A building run, and test runs with what it knew after 0, 2 and 4 tasks."""
    folder = tmp_path_factory.mktemp("paying")
    shutil.copytree(built, folder / "built")
    curve = here(*TEST, "--library", folder / "built", "--after", "0,2,4", "--out", folder / "curve")
    assert curve.returncode == 0, curve.printed
    (folder / "printed").write_text(curve.printed)
    return folder


def paying(folder: Path) -> Any:
    (row,) = here("stats", folder, "--json").result["rows"]
    return row.get("paying")


@pytest.mark.parametrize(
    ("tokens", "solved", "break_even"),
    [(100, 10, 12), (1000, 10, None), (100, 0, None), (990, 10, 1000)],
    ids=["saves", "saves nothing", "solves nothing", "saves little"],
)
def test_the_break_even_is_where_the_tokens_saved_are_those_of_learning(
    tokens: int, solved: int, break_even: int | None
) -> None:
    without = Paying.of(10, Spent(calls=10, prompt=1000), Spent())
    learned = Paying.of(solved, Spent(calls=1, completion=tokens), Spent(calls=5, prompt=1000))
    assert learned.compared_with("A", without).break_even == break_even


def test_no_break_even_against_a_baseline_that_solved_nothing() -> None:
    learned = Paying.of(3, Spent(), Spent(calls=5, prompt=1000))
    assert learned.compared_with("A", Paying.of(0, Spent(), Spent())) == learned


def test_a_task_solved_cost_what_playing_and_learning_cost(runs: Path) -> None:
    points = here(*TEST, "--library", runs / "built", "--after", "0,2,4", "--out", runs / "curve", "--json").result
    none, all_of_it = points["paying"]["0"], paying(runs / "curve" / "after-4")
    cost = here("cost", runs / "built", "--json").result["after"][-1]
    assert (none["learning_calls"], none["learning_tokens"]) == (0, 0)
    assert (all_of_it["learning_calls"], all_of_it["learning_tokens"]) == (cost["calls"], cost["tokens"])
    each = all_of_it["per_solved"]
    assert each["tokens"] == pytest.approx(all_of_it["tokens"] / all_of_it["solved"])
    assert each["tokens_with_learning"] == pytest.approx(each["tokens"] + cost["tokens"] / all_of_it["solved"])
    assert each["tokens"] < none["per_solved"]["tokens"] < each["tokens_with_learning"]


def test_a_building_run_tells_learning_from_playing(runs: Path) -> None:
    built = paying(runs / "built")
    summary = here("stats", runs / "built", "--json").result["rows"][0]
    assert 0 < built["learning_tokens"] < built["learning_tokens"] + built["tokens"] == summary["tokens"]


def test_test_stats_and_compare_tell_from_when_on_learning_pays(runs: Path) -> None:
    curve = runs / "curve"
    found = here(*TEST, "--library", runs / "built", "--after", "0,2,4", "--out", curve, "--json").result
    point = found["paying"]["4"]
    assert point["break_even"] == -(-point["learning_tokens"] // _saved(found["paying"]["0"], point))
    line = f"the tokens of learning are saved after {point['break_even']} solved tasks"
    assert line in (runs / "printed").read_text()
    stats, compared = here("stats", curve), here("compare", curve / "after-0", curve / "after-4")
    assert f"after-4: {line}, compared with after-0" in stats.printed
    assert f"B: {line}, compared with A" in compared.printed
    other = ("--planner-option", "replans=0", "--after", 0, "--out", runs / "other")
    assert here(*TEST, "--library", runs / "built", *other).returncode == 0
    assert f"{line}, compared with curve/after-0" in here("stats", runs / "other", curve).printed, (
        "not of other settings"
    )
    (pooled,) = here("stats", curve, "--by", "env", "--json").result["rows"]
    assert pooled["paying"]["learning_tokens"] == point["learning_tokens"], "the six tasks include the first two"
    rows = here("stats", runs, "--json").result["rows"]
    assert [row["paying"]["break_even"] for row in rows if row["building"]] == [None]


def _saved(without: Any, learned: Any) -> float:
    return float(without["per_solved"]["tokens"] - learned["per_solved"]["tokens"])


def test_a_run_tells_it_beside_its_results_and_the_report_draws_a_falling_curve(runs: Path, tmp_path: Path) -> None:
    played = here(*TEST, "--library", runs / "built", "--out", tmp_path / "run")
    assert "with learning (23 calls, " in played.printed
    here("report", tmp_path / "run", runs / "curve" / "after-0", "--out", tmp_path / "report.html")
    assert "with learning (23 calls, " in (tmp_path / "report.html").read_text()
    with closing(Run.open(tmp_path / "run")) as one, closing(Run.open(runs / "curve" / "after-0")) as other:
        drawn = [chart for chart in charts([read_run(one), read_run(other)]) if chart["title"] == CHART]
        assert [chart for chart in charts([read_run(other)]) if chart["title"] == CHART] == []
    learned, without = drawn[0]["series"]
    points = [tokens for _, tokens in learned["points"]]
    assert points[0] > 2 * points[len(points) // 2] > 2 * points[-1]
    assert without["points"][0][1] < points[0]
    assert all(isinstance(tokens, int) for tokens in points)


def test_a_run_without_learning_reports_no_break_even(tmp_path: Path) -> None:
    played = here("run", "--env", "toy", "--split", "all:2", "--out", tmp_path / "run")
    assert "with learning" not in played.printed
    assert paying(tmp_path / "run") is None
    unknown = here(
        "test", "--env", "alfworld", "--library", "learnt", "--split", "generated:1", "--out", tmp_path / "a"
    )
    assert unknown.returncode == 0
    assert paying(tmp_path / "a") is None
