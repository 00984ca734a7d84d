"""Charts: their data, and their drawing in a browser."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planbook.envs import chromium
from planbook.planner import Outcome
from planbook.report import report_runs
from planbook.report.charts import Chart, charts
from planbook.results import RunResults, read_run
from planbook.runs import Run
from tests import rows
from tests.browser import need_browser
from tests.reported import many_endings, run_with_prompts, write_closed_run
from tests.rows import BROKEN, FAILED, SOLVED

OUTCOMES = [SOLVED, FAILED, SOLVED, Outcome.INDIRECT_SUCCESS, BROKEN, Outcome.NOT_RUN]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_closed_run(tmp_path_factory.mktemp("charts") / "ended", many_endings, OUTCOMES)


@pytest.fixture(scope="module")
def folder_with_prompts(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = write_closed_run(tmp_path_factory.mktemp("charts") / "asked", run_with_prompts)
    report_runs([folder], None)
    return folder


def read(folder: Path, name: str = "run") -> RunResults:
    with closing(Run.open(folder)) as run:
        return read_run(run, name)


def charts_by_title(*runs: RunResults) -> dict[str, Chart]:
    return {chart["title"]: chart for chart in charts(runs)}


def test_curves_follow_the_order_in_which_episodes_ended(folder: Path) -> None:
    found = charts_by_title(read(folder))
    values = [value for _, value in found["Share of episodes solved so far"]["series"][0]["points"]]
    assert values == pytest.approx([1, 1 / 2, 2 / 3, 3 / 4, 3 / 5], abs=1e-6)


def test_a_flat_curve_is_not_drawn(tmp_path: Path) -> None:
    folder = write_closed_run(tmp_path / "run", many_endings, [SOLVED] * 5 + [Outcome.NOT_RUN])
    assert "Share of episodes solved so far" not in charts_by_title(read(folder))


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


@pytest.mark.browser
def test_a_browser_draws_the_charts_in_light_and_dark(folder_with_prompts: Path) -> None:
    need_browser()
    driver = chromium.shared_browser().driver
    driver.get((folder_with_prompts / "report.html").resolve().as_uri())
    figures = driver.execute_script("return document.querySelectorAll('figure.chart > svg[role=img]').length")
    assert figures == 1
    tips = driver.execute_script(
        "return [...document.querySelectorAll('.chart .line > title')].map((each) => each.textContent)"
    )
    assert [tip.partition(":")[0] for tip in tips] == ["asked"]
    fill = "return getComputedStyle(document.querySelector('.chart .line')).stroke"
    driver.execute_script("document.documentElement.style.colorScheme = 'light'")
    light = driver.execute_script(fill)
    driver.execute_script("document.documentElement.style.colorScheme = 'dark'")
    assert driver.execute_script(fill) != light
    assert driver.get_log("browser") == []  # type: ignore[no-untyped-call]
