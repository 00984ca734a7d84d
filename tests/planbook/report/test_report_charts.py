"""Charts: their data are what the store holds, and a browser draws them under the page's policy."""

from contextlib import closing
from pathlib import Path

import pytest

from planbook.envs.browser import chromium
from planbook.planner import Outcome
from planbook.report import report_runs
from planbook.report.charts import Chart, charts
from planbook.results import RunResults, read_run
from planbook.runs import Run
from tests.browser import need_browser
from tests.reported import HOSTILE, asking_run, many_endings, written

SOLVED, FAILED, BROKEN = Outcome.DIRECT_SUCCESS, Outcome.FAILURE, Outcome.BROKEN
OUTCOMES = [SOLVED, FAILED, SOLVED, Outcome.INDIRECT_SUCCESS, BROKEN, Outcome.NOT_RUN]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return written(tmp_path_factory.mktemp("charts") / "ended", lambda path: many_endings(path, OUTCOMES))


@pytest.fixture(scope="module")
def asked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = written(tmp_path_factory.mktemp("charts") / "asked", asking_run)
    report_runs([folder], None, None, as_json=True)
    return folder


def read(folder: Path, name: str = "run") -> RunResults:
    with closing(Run.open(folder)) as run:
        return read_run(run, name)


def drawn(*runs: RunResults) -> dict[str, Chart]:
    return {chart["title"]: chart for chart in charts(runs)}


def test_success_is_the_share_of_all_tasks_with_wilsons_interval(folder: Path, asked: Path) -> None:
    chart = drawn(read(folder, "one"), read(asked, HOSTILE))["Solved, by task type, with 95 % intervals"]
    first, second = chart["series"]
    place = chart["names"].index("fetch")
    assert first["values"][place] == 3 / 6
    # Wilson's interval of 3 in 6 at 95 %, worked out by hand: centre 0.5, half width 0.3123
    assert first["bounds"][place] == pytest.approx((0.1877, 0.8123), abs=1e-4)
    assert first["values"][chart["names"].index("fetch_two")] is None, "a run takes no room where it has no tasks"
    assert (first["name"], second["name"]) == ("one", HOSTILE)
    assert first["hue"] != second["hue"]


def test_every_task_is_in_one_part_of_how_the_episodes_ended(folder: Path) -> None:
    parts = {part["name"]: part["values"] for part in drawn(read(folder))["How the episodes ended"]["series"]}
    assert parts == {"direct success": [2], "indirect success": [1], "failure": [1], "broken": [1], "not run": [1]}


def test_curves_follow_the_order_in_which_episodes_ended(folder: Path) -> None:
    found = drawn(read(folder))
    values = [value for _, value in found["Share of episodes solved so far"]["series"][0]["points"]]
    assert values == pytest.approx([1, 1 / 2, 2 / 3, 3 / 4, 3 / 5], abs=1e-6)


@pytest.mark.parametrize("outcomes", [[Outcome.NOT_RUN] * 2, [SOLVED] * 5, [FAILED]])
def test_nothing_is_drawn_of_nothing(tmp_path: Path, outcomes: list[Outcome]) -> None:
    folder = written(tmp_path / "run", lambda path: many_endings(path, outcomes))
    assert charts([read(folder)]) == []


@pytest.mark.browser
def test_a_browser_draws_the_charts_in_light_and_dark(asked: Path) -> None:
    need_browser()
    driver = chromium.shared().driver
    driver.get((asked / "report.html").resolve().as_uri())
    figures = driver.execute_script("return document.querySelectorAll('figure.chart > svg[role=img]').length")
    assert figures >= 3
    assert driver.execute_script("return document.querySelectorAll('.chart .numbers table').length") == figures
    tips = driver.execute_script(
        "return [...document.querySelectorAll('.bar-of > title')].map((each) => each.textContent)"
    )
    assert any("2 of 3 solved 66.7%" in tip for tip in tips)
    fill = "return getComputedStyle(document.querySelector('.bar-of')).fill"
    driver.execute_script("document.documentElement.dataset.theme = 'light'")
    light = driver.execute_script(fill)
    driver.execute_script("document.documentElement.dataset.theme = 'dark'")
    assert driver.execute_script(fill) != light
    assert driver.get_log("browser") == []  # type: ignore[no-untyped-call]
