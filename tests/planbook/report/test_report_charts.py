"""Charts: what they say is what the store holds, no text in them comes to life, and a browser draws them."""

import json
import re
from contextlib import closing
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.common.action_chains import ActionChains
from selenium.webdriver.remote.webdriver import WebDriver
from selenium.webdriver.support.ui import WebDriverWait

from planbook.envs.browser import chromium
from planbook.planner import Ending, Outcome
from planbook.report import report_runs
from planbook.report.charts.bars import actions, endings, success
from planbook.report.charts.chart import BAR_WIDTH, plain, short_name, stacked, tall
from planbook.report.charts.chosen import charts
from planbook.report.charts.curves import curves
from planbook.results import RunResults, read_run
from planbook.run import Run
from tests.browser import need_browser
from tests.reported import HOSTILE, Page, asking_run, many_endings, written

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


def test_success_is_the_share_of_all_tasks_with_wilsons_interval(folder: Path) -> None:
    (trace,) = success([read(folder)]).traces
    assert trace["x"] == [3 / 6]
    # Wilson's interval of 3 in 6 at 95 %, worked out by hand: centre 0.5, half width 0.3123
    assert trace["error_x"]["array"] == pytest.approx([0.3123], abs=1e-4)
    assert trace["error_x"]["arrayminus"] == pytest.approx([0.3123], abs=1e-4)
    assert trace["hovertext"] == ["fetch: 3 of 6 solved: 50.0% (18.8 to 81.2%) in run"]


def test_every_task_is_in_one_part_of_how_the_episodes_ended(folder: Path) -> None:
    chart = endings([read(folder)])
    assert chart is not None
    counts = dict(zip(chart.head[1:], chart.rows[0][1:], strict=True))
    assert counts == {"direct success": "2", "indirect success": "1", "failure": "1", "broken": "1", "not run": "1"}
    assert {trace["name"]: trace["x"] for trace in chart.traces} == {
        name: [int(count)] for name, count in counts.items()
    }
    assert sum(trace["x"][0] for trace in chart.traces) == len(OUTCOMES)


def test_several_runs_stand_beside_each_other_in_colours_of_their_own(folder: Path, asked: Path) -> None:
    runs = [read(folder, "one"), read(asked, "other")]
    drawn = success(runs)
    assert [trace["name"] for trace in drawn.traces] == ["one", "other"]
    assert len({trace["marker"]["color"] for trace in drawn.traces}) == 2
    assert drawn.layout["showlegend"]
    ended = endings(runs)
    assert ended is not None
    assert [row[0] for row in ended.rows] == ["one", "other"]
    names = drawn.layout["yaxis"]["ticktext"]
    assert drawn.height == tall(len(names), sum(len(trace["y"]) for trace in drawn.traces) - len(names))


def test_bars_take_room_only_where_a_run_has_tasks_of_a_type() -> None:
    heights, middles, end = stacked([[0], [1, 2], [0, 1, 2]])
    every = [at for each in heights for at in each.values()]
    assert every == sorted(every)
    assert every == pytest.approx([0, 1, 1.6, 2.6, 3.2, 3.8])
    assert [*middles, end] == pytest.approx([0, 1.3, 3.2, 4.8])
    assert min(later - former for former, later in pairwise(every)) > BAR_WIDTH, "no bar lies on another"
    alone, _, _ = stacked([[0]] * 4)
    assert [each[0] for each in alone] == [0, 1, 2, 3]


def test_curves_follow_the_order_in_which_episodes_ended(folder: Path) -> None:
    (solved, *more) = curves([read(folder)])
    assert solved.traces[0]["y"] == pytest.approx([1, 1 / 2, 2 / 3, 3 / 4, 3 / 5])
    assert solved.last == "60.0%"
    assert [row[1] for row in solved.rows] == ["100.0%", "50.0%", "66.7%", "75.0%", "60.0%"]
    assert not more, "no model was asked"


def test_what_was_spent_so_far_adds_up_to_what_the_store_holds(asked: Path) -> None:
    drawn = {chart.title: chart for chart in curves([read(asked)])}
    with closing(Run.open(asked)) as run:
        rows: list[Any] = [event.body for event in run.store.events("task", "ask")]
    usages = [row["reply"]["usage"] for row in rows]
    ended = drawn["Model calls within episodes so far"].traces[0]["y"]
    assert ended == sorted(ended)
    assert ended[-1] == len(rows)
    tokens = drawn["Tokens within episodes so far"].traces[0]["y"]
    assert tokens[-1] == sum(usage["prompt"] + usage["completion"] for usage in usages)
    assert "US dollars within episodes so far" not in drawn, "scripts cost nothing"


def test_actions_are_counted_by_how_the_episode_ended(tmp_path: Path) -> None:
    counts = [(SOLVED, 0), (SOLVED, 3), (FAILED, 3), (FAILED, 90), (BROKEN, 7)]
    folder = tmp_path / "run"
    with closing(many_endings(folder, [Outcome.NOT_RUN] * len(counts))) as run:
        for number, (outcome, taken) in enumerate(counts):
            ending = Ending(outcome=outcome, actions=taken, cause="" if outcome.solved else outcome.value)
            run.store.put(f"task/{number}", "outcome", 0, ending.model_dump(mode="json"))
    chart = actions(read(folder))
    assert chart is not None
    assert [list(row) for row in chart.rows] == [["0 to 3", "2", "1"], ["88 to 91", "0", "1"]]
    assert [sum(trace["y"]) for trace in chart.traces] == [2, 2]


def test_nothing_is_drawn_of_a_run_that_has_not_begun(tmp_path: Path) -> None:
    folder = written(tmp_path / "run", lambda path: many_endings(path, [Outcome.NOT_RUN] * 2))
    assert charts([read(folder)]) == []


def test_texts_in_charts_are_plain(asked: Path) -> None:
    assert plain("<b>&\x1b[1m\n") == "&lt;b&gt;&amp;\\x1b[1m "
    assert short_name("x" * 40) == "x" * 25 + "…"
    drawn = charts([read(asked, HOSTILE)])
    told = json.dumps([chart.drawing for chart in drawn])
    assert "<script" not in told
    assert "&lt;script&gt;" in told
    # a name cannot ask the library for a figure of its own either
    templates = [line["hovertemplate"] for chart in curves([read(asked, "%{y} {x}")]) for line in chart.traces]
    assert set(templates) == {"%(y) (x): %{text}<extra></extra>"}


def test_the_numbers_can_be_read_without_a_script(asked: Path) -> None:
    page = Page(asked / "report.html")
    figures = page.all("figure", class_="chart")
    assert len(figures) >= 5
    assert len(page.all("details", class_="numbers")) >= 4
    assert all(has.get("open", "no") is None for tag, has, _ in page.elements if has.get("class") == "numbers")
    drawings = page.all("script", type="application/json")
    assert all({"data", "layout"} == set(json.loads(text)) for text in drawings)
    assert len(drawings) == len(figures)


@pytest.fixture
def driver(asked: Path) -> WebDriver:
    need_browser()
    driver = chromium.shared().driver
    driver.get((asked / "report.html").resolve().as_uri())
    return driver


def wait_for(driver: WebDriver, script: str) -> None:
    WebDriverWait(driver, 60, poll_frequency=0.1).until(lambda browser: browser.execute_script(f"return {script}"))


DRAWN = "document.querySelectorAll('figure.chart[data-drawn]').length"


@pytest.mark.browser
def test_a_browser_draws_the_charts_under_the_pages_policy(driver: WebDriver, asked: Path) -> None:
    driver.execute_script(
        "window.refused = []; addEventListener('securitypolicyviolation', (e) => refused.push(e.violatedDirective));"
        "window.faults = []; addEventListener('error', (e) => faults.push(e.message));"
        "addEventListener('unhandledrejection', (e) => faults.push(String(e.reason)));"
    )
    count = driver.execute_script("return document.querySelectorAll('figure.chart').length")
    for number in range(count):
        driver.execute_script(f"document.querySelectorAll('figure.chart')[{number}].scrollIntoView()")
        wait_for(driver, f"document.querySelectorAll('figure.chart')[{number}].dataset.drawn")
    assert driver.execute_script(f"return {DRAWN}") == count
    assert driver.execute_script("return document.querySelectorAll('figure.chart .main-svg').length") >= count
    assert driver.execute_script("return [refused, faults]") == [[], []]
    assert driver.title == "asked · planbook report"
    assert not driver.execute_script("return [...document.querySelectorAll('.numbers')].some((each) => each.open)")
    severe = [entry for entry in driver.get_log("browser") if entry["level"] == "SEVERE"]  # type: ignore[attr-defined]
    assert severe == []


@pytest.mark.browser
def test_a_bar_says_its_figures_when_a_pointer_is_on_it(driver: WebDriver) -> None:
    wait_for(driver, DRAWN)
    driver.execute_script("document.querySelector('figure.chart').scrollIntoView({block: 'center'})")
    bar = driver.find_element("css selector", "figure.chart .bars .point path")
    ActionChains(driver).move_to_element(bar).pause(0.3).move_by_offset(3, 1).perform()
    wait_for(driver, "document.querySelector('figure.chart .hoverlayer').textContent")
    assert "solved" in driver.execute_script("return document.querySelector('figure.chart .hoverlayer').textContent")


@pytest.mark.browser
def test_charts_follow_when_the_page_turns_dark(driver: WebDriver) -> None:
    wait_for(driver, DRAWN)
    fill = "getComputedStyle(document.querySelector('figure.chart .bars path')).fill"
    shown = [wait_for_change(driver, fill, theme) for theme in ("dark", "light")]
    assert all(re.fullmatch(r"rgb\(\d+, \d+, \d+\)", each) for each in shown)
    assert shown[0] != shown[1]


def wait_for_change(driver: WebDriver, script: str, theme: str) -> str:
    """Set a theme as the page's own button does; the colour of a bar when it has the page's colour again."""
    driver.execute_script(
        f"document.documentElement.dataset.theme = '{theme}'; dispatchEvent(new Event('themechange'));"
        "window.probe = document.body.appendChild(document.createElement('i')); probe.style.color = 'var(--c0)'"
    )
    wait_for(driver, f"{script} === getComputedStyle(probe).color")
    return str(driver.execute_script(f"return {script}"))
