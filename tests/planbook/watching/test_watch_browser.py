"""`planbook watch` in Chromium, while another process plays the run."""

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver.support.wait import WebDriverWait

from planbook.envs.browser import chromium
from tests.browser import need_browser
from tests.reported import HOSTILE, asking_run, written
from tests.slow_script import SLOWLY
from tests.watched import Watcher, count, played, watched

pytestmark = pytest.mark.browser

STEPS = "return document.querySelectorAll('.episode[open] .inside .steps > li').length"
STATE = "return document.querySelector('#state .word').textContent"
OVERFLOW = "return document.documentElement.scrollWidth - innerWidth"


class Reader:
    """A user with the page open."""

    def __init__(self) -> None:
        self.driver = chromium.shared().driver

    def open(self, watcher: Watcher, width: int = 1280) -> None:
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        self.driver.get(watcher.address)

    def ask(self, script: str) -> Any:
        return self.driver.execute_script(script)

    def wait(self, script: str) -> None:
        WebDriverWait(self.driver, 60).until(lambda driver: driver.execute_script(script), script)

    def press(self, button: str) -> None:
        self.wait(f"return !document.querySelector('[data-do=\"{button}\"]').disabled")
        self.ask(f"document.querySelector('[data-do=\"{button}\"]').click()")

    def wait_until(self, state: str) -> None:
        self.wait(f"{STATE} === {state!r}")


@pytest.fixture
def reader() -> Iterator[Reader]:
    need_browser()
    found = Reader()
    found.driver.get_log("browser")  # type: ignore[no-untyped-call]
    yield found
    messages = found.driver.get_log("browser")  # type: ignore[no-untyped-call]
    found.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    found.driver.get("about:blank")
    assert messages == [], messages


def test_steps_appear_at_once_and_buttons_control_the_run(reader: Reader, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with played(folder) as process, watched(folder) as watcher:
        reader.open(watcher)
        assert "token" not in reader.ask("return location.href")
        reader.wait_until("playing")
        reader.wait("return document.querySelector('.episode.under-way')")
        reader.wait("return document.querySelector('#state a')")
        reader.ask("document.querySelector('#state a').click()")
        asked = "document.querySelector('.episode[open] .inside .asked')"
        reader.wait(f"return {asked}")
        reader.ask(f"{asked}.open = true; {asked}.mark = 'the same'")
        reader.wait(STEPS)
        assert reader.ask(f"return [{asked}.mark, {asked}.open]") == ["the same", True], "it is not drawn again"
        reader.wait("return document.querySelector('.episode[open] .outcome').textContent !== 'begun'")
        reader.press("pause")
        reader.wait_until("paused")
        time.sleep(SLOWLY + 0.2)  # running requests are answered
        before = count(folder, ("ask", "act"))
        time.sleep(SLOWLY + 0.2)
        assert count(folder, ("ask", "act")) == before
        reader.press("go on")
        reader.wait_until("playing")
        reader.press("stop")
        reader.wait_until("stopped")
        process.communicate(timeout=60)
        reader.press("go on")
        reader.wait_until("playing")
        reader.press("stop")
        reader.wait_until("stopped")
        assert reader.ask("return document.querySelector('.episode[open] .cell') !== null"), "the episode stays open"
        reader.driver.get("about:blank")


def test_hostile_texts_are_texts_and_the_page_fits_a_phone(reader: Reader, tmp_path: Path) -> None:
    folder = written(tmp_path / "run", asking_run, seeds=2)
    with watched(folder) as watcher:
        reader.open(watcher, width=390)
        reader.wait_until("stopped")
        for number in range(3):
            reader.ask(f"document.querySelector('#run-0-{number} > summary').click()")
            reader.wait(f"return document.querySelector('#run-0-{number} .inside')?.childElementCount > 0")
        assert HOSTILE in reader.ask("return document.body.textContent")
        assert reader.ask("return document.title") != "taken"
        assert reader.ask(OVERFLOW) <= 0
        reader.driver.get("about:blank")


def test_the_page_says_that_its_server_has_ended(reader: Reader, tmp_path: Path) -> None:
    folder = written(tmp_path / "run", asking_run, seeds=1)
    with watched(folder) as watcher:
        reader.open(watcher)
        reader.wait_until("stopped")
    reader.wait_until("planbook watch has ended")
    assert reader.ask("return [...document.querySelectorAll('[data-do]')].every((each) => each.disabled)")
    reader.driver.get("about:blank")
    reader.driver.get_log("browser")  # type: ignore[no-untyped-call]
