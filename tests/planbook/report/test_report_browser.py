"""The report in Chromium: links, filters, search, keyboard, themes and sizes."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver import Chrome, Keys
from selenium.webdriver.support.wait import WebDriverWait

from planbook.report import report_runs
from tests.browser import need_browser
from tests.reading import OVERFLOW, SIZES, Reader, reading
from tests.reported import run_with_prompts, write_closed_run
from tests.rows import new_run

pytestmark = pytest.mark.browser

ONLY_IN_PROMPTS = "replies left for this task"
"""Words that are in the page's text only after an episode was opened."""
SHOWN = "return [...document.querySelectorAll('.episode')].filter((each) => each.checkVisibility()).length"


@pytest.fixture(scope="module")
def file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    need_browser()
    folder = write_closed_run(tmp_path_factory.mktemp("browser") / "asked", run_with_prompts)
    report_runs([folder], None)
    return (folder / "report.html").resolve()


class ReportReader(Reader):
    """A browser that shows the report in a file."""

    def __init__(self, file: Path) -> None:
        super().__init__()
        self.file = file

    def show(self, place: str = "", **options: str) -> None:
        """Open the report, at an anchor if one is given."""
        self.open(f"{self.file.as_uri()}{place}", **options)

    def opened(self, anchor: str) -> None:
        """Wait until an episode was decompressed."""
        self.wait("return document.querySelector(arguments[0])?.childElementCount > 0", f"#{anchor} > .inside")


@pytest.fixture
def reader(file: Path) -> Iterator[ReportReader]:
    with reading() as found:
        yield ReportReader(file)
        found.ask("localStorage.clear()")


def test_the_policy_of_the_page_blocks_injected_scripts(file: Path, tmp_path: Path) -> None:
    """No text of a run can become an element of the page, so the test inserts elements itself."""
    attacked = tmp_path / "attacked.html"
    body = "<body><img src=x onerror=\"document.title='taken'\"><script>document.title = 'taken'</script>"
    attacked.write_text(file.read_text(encoding="utf-8").replace("<body>", body, 1), encoding="utf-8")
    reader = ReportReader(attacked)
    reader.show()
    assert reader.ask("return document.images.length") == 1
    assert reader.driver.title == "asked · planbook report"
    refused = reader.errors()
    assert sum("Content Security Policy" in entry["message"] for entry in refused) >= 2


def test_a_link_opens_its_episode_and_marks_the_step(reader: ReportReader) -> None:
    reader.show("#run-0-1-step-2")
    reader.opened("run-0-1")
    reader.wait("return document.querySelector('#run-0-1-step-2').classList.contains('at')")
    box = reader.ask("return document.querySelector('#run-0-1-step-2').getBoundingClientRect().toJSON()")
    assert 0 <= box["top"] < SIZES["desktop"][1]
    line = reader.ask("return document.querySelector('#run-0-1-step-2').dataset.line")
    marked = "const now = document.querySelector('.code .now'); return [...now.parentElement.children].indexOf(now) + 1"
    assert str(reader.ask(marked)) == line
    reader.ask("location.hash = '#run-0-0-cell-0'")
    reader.opened("run-0-0")
    reader.wait("return document.querySelector('#run-0-0-cell-0').classList.contains('linked')")


def test_episodes_are_filtered_by_outcome_cause_and_words(reader: ReportReader) -> None:
    reader.show()
    choose = """const [name, value] = arguments; const field = document.querySelector(`.filter [name=${name}]`);
        field.value = value; field.dispatchEvent(new Event('input', { bubbles: true }))"""
    reader.ask(choose, "outcome", "not_run")
    assert reader.ask(SHOWN) == 2
    assert reader.ask("return document.querySelector('.filter output').textContent") == "2 of 6 shown"
    reader.ask(choose, "outcome", "")
    reader.ask(choose, "cause", "out_of_budget")
    found = reader.ask(SHOWN)
    assert found == reader.ask("return document.querySelectorAll('[data-cause=out_of_budget]').length") > 0
    reader.ask(choose, "cause", "")
    reader.ask(choose, "words", "FETCH_TWO 1")
    assert reader.ask(SHOWN) == 1
    reader.ask(choose, "words", "")
    assert reader.ask(SHOWN) == 6


def test_the_search_finds_words_in_compressed_prompts(reader: ReportReader) -> None:
    reader.show()
    word = ONLY_IN_PROMPTS
    assert word not in reader.ask("return document.querySelector('main').textContent.toLowerCase()")
    reader.press("/", word)
    reader.wait("return /^\\d+ hits?, \\d+ episodes?$/.test(document.querySelector('.bar output').textContent)")
    hits = reader.ask("return hits.map((each) => [each.part.id, each.count])")
    assert hits
    reader.press(Keys.ENTER)
    reader.opened(hits[0][0])
    reader.wait("return CSS.highlights.has('hit')")
    assert reader.ask("return [...CSS.highlights.get('hit')][0].toString().toLowerCase()") == word
    for anchor, count in hits:
        reader.ask("goTo(arguments[0])", anchor)
        reader.opened(anchor)
        ranges = "return rangesIn(document.getElementById(arguments[0]), arguments[1]).length"
        assert reader.ask(ranges, anchor, word) == count
    badge = "return document.querySelector(arguments[0]).dataset.hits"
    assert reader.ask(badge, f"#{hits[0][0]} > .head > .small") == str(hits[0][1])
    reader.press("/", Keys.ESCAPE)
    assert reader.ask("return document.querySelector('.bar output').textContent") == ""


def test_keys_move_through_episodes_and_steps(reader: ReportReader) -> None:
    reader.show()
    reader.press("j", "j", "k", "o")
    reader.opened("run-0-0")
    assert reader.ask("return document.activeElement.parentElement.id") == "run-0-0"
    at = "return document.querySelector('.steps .at')?.id"
    reader.press("]", "]")
    second = reader.ask(at)
    reader.press("[")
    assert [reader.ask(at), second] == ["run-0-0-step-1", "run-0-0-step-2"]
    assert reader.ask("return document.querySelectorAll('.code .now').length") == 1
    reader.press("j", Keys.ENTER)
    reader.opened("run-0-1")
    reader.ask("document.querySelector('#run-0-3 > summary').focus()")
    reader.press("j")
    assert reader.ask("return document.activeElement.parentElement.id") == "run-0-4", "from the focused episode"


def test_the_page_and_its_chart_follow_the_theme_of_the_system(reader: ReportReader) -> None:
    colours = """const [line] = document.querySelectorAll('figure.chart > svg[role=img] .line');
        return [getComputedStyle(document.body).backgroundColor, getComputedStyle(line).stroke]"""
    reader.show(theme="light")
    assert reader.ask("return document.querySelector('.chart .line > title').textContent").startswith("asked:")
    light = reader.ask(colours)
    reader.show(theme="dark")
    assert [one == other for one, other in zip(reader.ask(colours), light, strict=True)] == [False, False]


@pytest.mark.parametrize("size", SIZES)
def test_the_page_is_never_wider_than_its_window(reader: ReportReader, size: str) -> None:
    reader.show("#run-0-0", size=size)
    reader.opened("run-0-0")
    assert reader.ask(OVERFLOW) <= 0
    reader.ask("document.querySelectorAll('details').forEach((each) => { each.open = true; })")
    for anchor in ("run-0-1", "run-0-2", "run-0-outside"):
        reader.opened(anchor)
    assert reader.ask(OVERFLOW) <= 0


def test_long_names_are_wrapped_and_not_cut(reader: ReportReader, tmp_path: Path) -> None:
    folder = write_closed_run(tmp_path / "run", new_run, "pick_clean_then_place_in_receptacle", "fetch")
    report_runs([folder], None)
    reader.open((folder / "report.html").as_uri(), size="phone")
    names = "[...document.querySelectorAll('.results tbody th')]"
    assert reader.ask(f"return {names}.length") == 3
    assert reader.ask(f"return {names}.every((each) => each.scrollWidth <= each.clientWidth)")


def test_results_can_be_read_without_scripts(reader: ReportReader) -> None:
    """Without scripts the driver cannot tell when the page is loaded, so the test waits for its text."""
    texts = ("Without JavaScript, this page shows only", "mean error steps", "Not solved, by cause", "Outcomes: ")

    def are_shown(driver: Chrome) -> bool:
        document = json.dumps(driver.execute_cdp_cmd("DOM.getDocument", {"depth": -1}))
        return all(text in document for text in texts)

    reader.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    try:
        reader.show()
        WebDriverWait(reader.driver, 20).until(are_shown)
    finally:
        reader.driver.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    table = reader.file.read_text(encoding="utf-8").partition("<noscript>")[2].partition("</noscript>")[0]
    assert '<div class="wide"><table class="results">' in table, "a phone scrolls the table, not the page"
    assert table.count('<tr class="all"><th>all</th>') == 2, "results and costs"
