"""The data of charts. `test_report_browser.py` looks at how they are drawn."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planbook.planner import Outcome
from planbook.report.charts import Chart, charts
from planbook.results import RunResults, read_run
from planbook.runs import Run
from tests import rows
from tests.reported import many_endings, write_closed_run
from tests.rows import BROKEN, FAILED, SOLVED

OUTCOMES = [SOLVED, FAILED, SOLVED, Outcome.INDIRECT_SUCCESS, BROKEN, Outcome.NOT_RUN]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_closed_run(tmp_path_factory.mktemp("charts") / "ended", many_endings, OUTCOMES)


def read(folder: Path, name: str = "run") -> RunResults:
    with closing(Run.open(folder)) as run:
        return read_run(run, name)


def charts_by_title(*runs: RunResults) -> dict[str, Chart]:
    return {chart["title"]: chart for chart in charts(runs)}


def test_curves_follow_the_order_in_which_episodes_ended(folder: Path) -> None:
    found = charts_by_title(read(folder))
    values = [value for _, value in found["Share of episodes solved so far"]["series"][0]["points"]]
    assert values == pytest.approx([1, 1 / 2, 2 / 3, 3 / 4, 3 / 5], abs=1e-6)


def test_success_is_drawn_against_a_setting_if_runs_differ_in_nothing_else(tmp_path: Path) -> None:
    def adapt(d_max: int, actions: int = 9) -> RunResults:
        options: dict[str, Any] = {"planner": "adapt", "planner_options": {"d_max": d_max}, "actions": actions}
        return read(rows.write_run(tmp_path / f"{d_max}-{actions}", [SOLVED, FAILED], **options))

    assert "Success by d_max" in charts_by_title(adapt(1), adapt(3), adapt(2, actions=5))
    assert "Success by d_max" not in charts_by_title(adapt(4), adapt(5, actions=5))


@pytest.mark.parametrize("outcomes", [[Outcome.NOT_RUN] * 2, [SOLVED] * 5, [FAILED]])
def test_runs_without_a_curve_have_no_charts(tmp_path: Path, outcomes: list[Outcome]) -> None:
    folder = write_closed_run(tmp_path / "run", many_endings, outcomes)
    assert charts([read(folder)]) == []
