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
from planbook.results.summary import results_table
from planbook.runs import Run
from planbook.wording import NO_FIGURE
from tests import rows
from tests.browser import need_browser
from tests.flows import invoke
from tests.reported import HOSTILE, many_endings, run_with_prompts, write_closed_run
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


SUCCESS = "Solved, by task type, with 95 % intervals"


def test_bars_show_the_share_of_all_tasks_with_wilsons_interval(tmp_path: Path, folder_with_prompts: Path) -> None:
    outcomes = [*OUTCOMES[:4], FAILED, FAILED]
    folder = write_closed_run(tmp_path / "run", lambda path: many_endings(path, outcomes))
    chart = charts_by_title(read(folder, "one"), read(folder_with_prompts, HOSTILE))[SUCCESS]
    first, second = chart["series"]
    place = chart["names"].index("fetch")
    assert first["values"][place] == 3 / 6
    assert first["bounds"][place] == pytest.approx((0.1877, 0.8123), abs=1e-4), "centre 0.5, half width 0.3123"
    assert first["values"][chart["names"].index("fetch_two")] is None, "a run has no bar for a type without tasks"
    assert (first["name"], second["name"]) == ("one", HOSTILE)
    assert first["hue"] != second["hue"]


def test_no_interval_is_drawn_where_the_table_has_none(tmp_path: Path) -> None:
    command = ("run", "--env", "toy", "--seeds", "0-2", "--budget", "actions=50", "--out", tmp_path / "run")
    assert invoke(*command).returncode == 4
    run = read(tmp_path / "run")
    chart = charts_by_title(run)[SUCCESS]
    assert invoke(*command[:-3], "actions=10", "--out", tmp_path / "short").returncode == 4
    assert "Solved, by task type" in charts_by_title(read(tmp_path / "short")), "no interval, so none in the title"
    drawn_at = [name for name, bounds in zip(chart["names"], chart["series"][0]["bounds"], strict=True) if bounds]
    table = results_table(run.summary(), "")
    column = table.columns.index("95 % interval") + 1
    assert drawn_at == [row[0] for row in table.rows if row[column] != NO_FIGURE] == ["fetch"]


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
    assert SUCCESS not in charts_by_title(read(folder, "one"), read(folder, "two"))


@pytest.mark.browser
def test_a_browser_draws_the_charts_in_light_and_dark(folder_with_prompts: Path) -> None:
    need_browser()
    driver = chromium.shared().driver
    driver.get((folder_with_prompts / "report.html").resolve().as_uri())
    figures = driver.execute_script("return document.querySelectorAll('figure.chart > svg[role=img]').length")
    assert figures >= 3
    assert driver.execute_script("return document.querySelectorAll('.chart .numbers table').length") == figures
    tips = driver.execute_script(
        "return [...document.querySelectorAll('.bar-of > title')].map((each) => each.textContent)"
    )
    assert any("2 of 3 solved 66.7%" in tip for tip in tips)
    fill = "return getComputedStyle(document.querySelector('.bar-of')).fill"
    driver.execute_script("document.documentElement.style.colorScheme = 'light'")
    light = driver.execute_script(fill)
    driver.execute_script("document.documentElement.style.colorScheme = 'dark'")
    assert driver.execute_script(fill) != light
    assert driver.get_log("browser") == []  # type: ignore[no-untyped-call]


@pytest.mark.browser
def test_the_names_of_bars_are_not_cut_off(tmp_path: Path) -> None:
    need_browser()
    for name in ("pick_heat_then_place", "pick_clean_then_place_somewhere"):
        with closing(many_endings(tmp_path / name, [SOLVED, FAILED], name)):
            pass
    report_runs([*tmp_path.iterdir()], tmp_path / "report.html")
    driver = chromium.shared().driver
    driver.get((tmp_path / "report.html").as_uri())
    names = dict(
        driver.execute_script(
            "return [...document.querySelectorAll('.chart text[text-anchor=end]')]"
            ".map((each) => [each.firstChild.textContent, each.getBBox().x])"
        )
    )
    assert {"pick_heat_then_place", "pick_clean_then_plac\u2026"} <= names.keys()
    assert min(names.values()) >= 0
