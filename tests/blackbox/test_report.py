"""A report as a reader sees it in Chromium: figures, a row for each episode, and the content of an opened episode.

The tests look only for visible texts, so they hold for any structure of the page.
"""

import re
import shutil
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from selenium import webdriver
from selenium.common.exceptions import TimeoutException
from selenium.webdriver.support.wait import WebDriverWait

from tests.blackbox.conftest import RunShelf
from tests.blackbox.harness import planbook
from tests.blackbox.recorded import export_episodes
from tests.browser import need_browser

pytestmark = pytest.mark.browser

SEEN = """
const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT), texts = [];
while (walker.nextNode()) {
  const parent = walker.currentNode.parentElement;
  if (parent.checkVisibility() && !["SCRIPT", "STYLE"].includes(parent.tagName)) texts.push(walker.currentNode.data);
}
return texts.join(" ");
"""
"""Returns all visible texts, including those that scrolling would show."""
ROWS = """
const holds = (each) => each.textContent.includes(arguments[0]);
return [...document.body.querySelectorAll("*")]
  .filter((each) => holds(each) && each.checkVisibility() && ![...each.children].some(holds))
  .map((each) => each.closest("summary, button, a, tr, [role=button]") ?? each);
"""
"""Returns the clickable element of everything that shows a text."""
UNFOLD = """
const folded = "details:not([open]) > summary, [aria-expanded=false]";
const found = [...document.querySelectorAll(folded)].filter((each) => each.checkVisibility());
found.forEach((each) => each.click());
return found.length;
"""
FIGURES = {
    "scripted": ["2 of 2 solved", "100.0%", "direct success", "fetch", "$0.00"],
    "adapt": ["2 of 3 solved", "66.7%", "20.8% to 93.9%", "68,076", "depth_4", "unfinished 1", "k_max", "$0.00"],
    "turned": ["2 of 2 solved", "100.0%", "MT1_basic", "MT2_tool_simple", "turned back"],
    "built": ["3 of 4 solved", "75.0%", "fetch_two", "rule_1", "Success Process", "Corrected Error"],
    "old_run": ["2 of 3 solved", "66.7%", "68,076", "0.1.0"],
}
"""Maps each run to the texts that its page shows before anything is opened. An opened episode of the first run shows
everything. In the other runs, subtasks, branches and long feedback of an opened episode are folded."""


def without_spaces(text: str) -> str:
    """Remove white space, since coloured code and numbered lines may add some."""
    return "".join(text.split())


@pytest.fixture(scope="module")
def browser() -> Iterator[webdriver.Chrome]:
    need_browser()
    options = webdriver.ChromeOptions()
    options.binary_location = shutil.which("chromium") or ""
    for argument in ("--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--window-size=1280,900"):
        options.add_argument(argument)
    driver = webdriver.Chrome(options, webdriver.ChromeService(shutil.which("chromedriver")))
    yield driver
    driver.quit()


class Reader:
    """A browser that shows the report of a run."""

    def __init__(self, driver: webdriver.Chrome, file: Path) -> None:
        self._driver = driver
        driver.get("about:blank")
        driver.get(file.as_uri())

    def seen(self) -> str:
        """Return all visible text, without white space."""
        return without_spaces(self._driver.execute_script(SEEN))

    def open(self, task: str, text: str) -> None:
        """Click on the elements that show a task's id, one after the other, until the page shows a text."""
        for number in range(len(self._driver.execute_script(ROWS, task))):
            self._driver.execute_script("arguments[0].click()", self._driver.execute_script(ROWS, task)[number])
            with suppress(TimeoutException):
                WebDriverWait(self._driver, 5).until(lambda _: without_spaces(text) in self.seen())
                return
        raise AssertionError(f"no click on {task} shows {text}")

    def unfold(self) -> None:
        """Unfold everything, including what unfolding reveals."""
        WebDriverWait(self._driver, 20).until(lambda driver: driver.execute_script(UNFOLD) == 0)


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=[pytest.mark.deep] * (name in ("built", "scripted", "turned"))) for name in FIGURES],
)
def test_a_report_shows_figures_and_episodes(
    name: str, shelf: RunShelf, browser: webdriver.Chrome, tmp_path: Path
) -> None:
    run, file = shelf.words(f"{{{name}}} {{tmp}}/report.html", tmp_path)
    written = planbook("report", run, "--out", file, "--json", cwd=tmp_path)
    assert written.code == 0, written.printed
    reader = Reader(browser, Path(file))
    assert [figure for figure in FIGURES[name] if without_spaces(figure) not in reader.seen()] == []
    for episode in export_episodes(Path(run)):
        assert episode["task"]["id"] in reader.seen()
        reader.open(episode["task"]["id"], episode["task"]["goal"])
        if name != "scripted":
            reader.unfold()
        assert missing(episode, reader.seen()) == []


def missing(episode: Any, seen: str) -> list[str]:
    """Return what an opened episode does not show of its goal, plans, actions, observations, feedback, verdict."""
    expected = [episode["task"]["goal"], episode["ending"]["outcome"].replace("_", " ")]
    for each in episode["rounds"]:
        for cell in each["cells"]:
            expected += cell["code"].strip().splitlines()
            feedback = cell["feedback"]["text"].strip().splitlines()
            expected += [line for line in feedback[:1] if not re.match(r"\d+\. agent\.", line)]
        for step in each["steps"]:
            expected += [f"{step['action']['name']}(", *map(str, step["action"].get("args", ()))]
            expected += step["observation"]["text"].strip().splitlines()[:1]
    return [text for text in expected if without_spaces(text) not in seen]
