"""Charts: their data are what the store holds, and a browser draws them under the page's policy."""

from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from planbook.envs.browser import chromium
from planbook.planner import Ending, Outcome
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
    values = [value for _, value in found["Solved, of the episodes that had ended"]["series"][0]["points"]]
    assert values == pytest.approx([1, 1 / 2, 2 / 3, 3 / 4, 3 / 5], abs=1e-6)
    assert not [title for title in found if "so far" in title], "no model was asked"


def test_what_was_spent_so_far_adds_up_to_what_the_store_holds(asked: Path) -> None:
    found = drawn(read(asked))
    with closing(Run.open(asked)) as run:
        rows: list[Any] = [event.body for event in run.store.events("task", "ask")]
    usages = [row["reply"]["usage"] for row in rows]
    assert found["Model calls within episodes so far"]["series"][0]["points"][-1][1] == len(rows)
    tokens = found["Tokens within episodes so far"]["series"][0]["points"]
    assert tokens[-1][1] == sum(usage["prompt"] + usage["completion"] for usage in usages)
    assert "US dollars within episodes so far" not in found, "scripts cost nothing"


def test_actions_are_counted_by_how_the_episode_ended(tmp_path: Path) -> None:
    counts = [(SOLVED, 0), (SOLVED, 3), (FAILED, 3), (FAILED, 90), (BROKEN, 7)]
    with closing(many_endings(tmp_path / "run", [Outcome.NOT_RUN] * len(counts))) as run:
        for number, (outcome, taken) in enumerate(counts):
            ending = Ending(outcome=outcome, actions=taken, cause="" if outcome.solved else outcome.value)
            run.store.put(f"task/{number}", "outcome", 0, ending.model_dump(mode="json"))
    chart = drawn(read(tmp_path / "run"))["Actions that the episodes took"]
    assert (chart["names"][0], chart["names"][-1]) == ("0 to 3", "88 to 91")
    assert [(part["name"], part["values"][0], sum(part["values"])) for part in chart["series"]] == [
        ("solved", 2, 2),
        ("not solved", 1, 2),
    ]


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
    assert figures >= 5
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
