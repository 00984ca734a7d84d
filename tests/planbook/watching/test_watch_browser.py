"""`planbook watch` clicked through in a real Chromium, while another process plays the run."""

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
DOING = "return document.querySelector('#state .word').textContent"
OVERFLOW = "return document.documentElement.scrollWidth - innerWidth"


class Onlooker:
    """Somebody with the page open."""

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

    def wait_until(self, doing: str) -> None:
        self.wait(f"{DOING} === {doing!r}")


@pytest.fixture
def onlooker() -> Iterator[Onlooker]:
    need_browser()
    found = Onlooker()
    found.driver.get_log("browser")  # type: ignore[no-untyped-call]
    yield found
    messages = found.driver.get_log("browser")  # type: ignore[no-untyped-call]
    found.driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})
    found.driver.get("about:blank")
    assert messages == [], messages


def test_steps_appear_as_they_happen_and_the_run_is_steered(onlooker: Onlooker, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with played(folder) as process, watched(folder) as watcher:
        onlooker.open(watcher)
        assert "token" not in onlooker.ask("return location.href")
        onlooker.wait_until("playing")
        onlooker.wait("return document.querySelector('.episode.under-way')")
        onlooker.wait("return document.querySelector('#state a')")
        onlooker.ask("document.querySelector('#state a').click()")
        asked = "document.querySelector('.episode[open] .inside .asked')"
        onlooker.wait(f"return {asked}")
        onlooker.ask(f"{asked}.open = true; {asked}.mark = 'the same'")
        onlooker.wait(STEPS)
        assert onlooker.ask(f"return [{asked}.mark, {asked}.open]") == ["the same", True], "it is not drawn anew"
        onlooker.wait("return document.querySelector('.episode[open] .outcome').textContent !== 'begun'")
        onlooker.press("pause")
        onlooker.wait_until("paused")
        time.sleep(SLOWLY + 0.2)  # what was under way is answered
        before = count(folder, ("ask", "act"))
        time.sleep(SLOWLY + 0.2)
        assert count(folder, ("ask", "act")) == before
        onlooker.press("go on")
        onlooker.wait_until("playing")
        onlooker.press("stop")
        onlooker.wait_until("stopped")
        process.communicate(timeout=60)
        onlooker.press("go on")
        onlooker.wait_until("playing")
        onlooker.press("stop")
        onlooker.wait_until("stopped")
        assert onlooker.ask("return document.querySelector('.episode[open] .cell') !== null"), "it has stayed open"
        onlooker.driver.get("about:blank")


def test_hostile_texts_are_texts_and_nothing_is_wider_than_a_phone(onlooker: Onlooker, tmp_path: Path) -> None:
    folder = written(tmp_path / "run", lambda each: asking_run(each, seeds=2))
    with watched(folder) as watcher:
        onlooker.open(watcher, width=390)
        onlooker.wait_until("stopped")
        for number in range(3):
            onlooker.ask(f"document.querySelector('#run-0-{number} > summary').click()")
            onlooker.wait(f"return document.querySelector('#run-0-{number} .inside')?.childElementCount > 0")
        assert HOSTILE in onlooker.ask("return document.body.textContent")
        assert onlooker.ask("return document.title") != "taken"
        assert onlooker.ask(OVERFLOW) <= 0
        onlooker.driver.get("about:blank")


def test_a_page_whose_server_has_ended_says_so(onlooker: Onlooker, tmp_path: Path) -> None:
    folder = written(tmp_path / "run", lambda each: asking_run(each, seeds=1))
    with watched(folder) as watcher:
        onlooker.open(watcher)
        onlooker.wait_until("stopped")
    onlooker.wait_until("planbook watch has ended")
    assert onlooker.ask("return [...document.querySelectorAll('[data-do]')].every((each) => each.disabled)")
    onlooker.driver.get("about:blank")
    onlooker.driver.get_log("browser")  # type: ignore[no-untyped-call]
