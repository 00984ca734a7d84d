"""`planbook watch` in Chromium, while another process plays the run."""

import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from tests.reading import OVERFLOW, Reader, reading
from tests.reported import HOSTILE, run_with_prompts, write_closed_run
from tests.slow_script import SLOW_ANSWER_SECONDS
from tests.watched import count, playing_run, watch_run

pytestmark = pytest.mark.browser

STEPS = "return document.querySelectorAll('.episode[open] .inside .steps > li').length"
STATE = "return document.querySelector('#state .word').textContent"


@pytest.fixture
def reader() -> Iterator[Reader]:
    with reading() as found:
        yield found


def click(reader: Reader, button: str) -> None:
    reader.wait(f"return !document.querySelector('[data-do=\"{button}\"]').disabled")
    reader.ask(f"document.querySelector('[data-do=\"{button}\"]').click()")


def wait_until(reader: Reader, state: str) -> None:
    reader.wait(f"{STATE} === {state!r}")


def test_steps_appear_immediately_and_buttons_control_the_run(reader: Reader, tmp_path: Path) -> None:
    folder = tmp_path / "run"
    with playing_run(folder) as process, watch_run(folder) as watcher:
        reader.open(watcher.address)
        assert "token" not in reader.ask("return location.href")
        wait_until(reader, "playing")
        reader.wait("return document.querySelector('.episode.under-way')")
        reader.wait("return document.querySelector('#state a')")
        reader.ask("document.querySelector('#state a').click()")
        reader.wait("return document.querySelector('.contents a')")
        reader.ask("document.querySelector('.contents a').focus()")
        asked = "document.querySelector('.episode[open] .inside .asked')"
        reader.wait(f"return {asked}")
        reader.ask(f"{asked}.open = true; {asked}.mark = 'the same'")
        reader.wait(STEPS)
        assert reader.ask(f"return [{asked}.mark, {asked}.open]") == ["the same", True], "it is not drawn again"
        reader.wait("return document.querySelector('.episode[open] .outcome').textContent !== 'begun'")
        assert reader.ask("return document.activeElement.matches('.contents a')"), "the focus stays on a link"
        reader.ask("document.querySelector('[data-do=pause]').focus()")
        click(reader, "pause")
        wait_until(reader, "paused")
        assert reader.ask("return document.activeElement.textContent") == "Continue", "the focus stays on a button"
        time.sleep(SLOW_ANSWER_SECONDS + 0.2)  # until the current requests are answered
        before = count(folder, ("ask", "act"))
        time.sleep(SLOW_ANSWER_SECONDS + 0.2)
        assert count(folder, ("ask", "act")) == before
        click(reader, "go on")
        wait_until(reader, "playing")
        click(reader, "stop")
        wait_until(reader, "stopped")
        assert f"planbook run --resume {folder}" in reader.ask("return document.getElementById('state').textContent")
        process.communicate(timeout=60)
        assert reader.ask("return document.querySelector('.episode[open] .cell') !== null"), "the episode stays open"
        reader.driver.get("about:blank")


def test_hostile_texts_are_shown_as_text_and_the_page_fits_a_phone(reader: Reader, tmp_path: Path) -> None:
    folder = write_closed_run(tmp_path / "run", run_with_prompts, seeds=2)
    with watch_run(folder) as watcher:
        reader.open(watcher.address, size="phone")
        wait_until(reader, "stopped")
        for number in range(3):
            reader.ask(f"document.querySelector('#run-0-{number} > summary').click()")
            reader.wait(f"return document.querySelector('#run-0-{number} .inside')?.childElementCount > 0")
        assert HOSTILE in reader.ask("return document.body.textContent")
        assert reader.ask("return document.title") != "taken"
        assert reader.ask(OVERFLOW) <= 0
        reader.driver.get("about:blank")


def test_the_page_says_why_the_run_cannot_be_read(reader: Reader, tmp_path: Path) -> None:
    folder = write_closed_run(tmp_path / "run", run_with_prompts, seeds=1)
    with watch_run(folder) as watcher, closing(sqlite3.connect(folder / "run.db")) as database:
        reader.open(watcher.address)
        wait_until(reader, "stopped")
        database.execute("ALTER TABLE event RENAME TO lost")
        reader.wait(f'{STATE}.includes("cannot be used as a run\'s store")')
        database.execute("ALTER TABLE lost RENAME TO event")
        wait_until(reader, "stopped")
        assert not reader.ask("return document.documentElement.classList.contains('gone')")
        reader.driver.get("about:blank")
    assert all("409" in error["message"] for error in reader.errors())


@pytest.mark.parametrize("broken", ["news", "episode"])
def test_an_answer_that_breaks_off_does_not_end_the_updates(reader: Reader, tmp_path: Path, broken: str) -> None:
    with playing_run(tmp_path / "run"), watch_run(tmp_path / "run") as watcher:
        reader.open(watcher.address)
        wait_until(reader, "playing")
        reader.ask(
            "window.whole = fetch; window.fetch = async (to, how) =>"
            " to.startsWith(arguments[0]) ? new Response('{\"version\": 1') : whole(to, how)",
            broken,
        )
        reader.wait("return document.querySelector('#state a')")
        reader.ask("document.querySelector('#state a').click()")
        reader.ask("document.querySelector('.episode.under-way').open = true")
        wait_until(reader, "planbook watch cannot be read")
        reader.ask("window.fetch = whole")
        wait_until(reader, "playing")
        reader.wait(STEPS)
        reader.driver.get("about:blank")
    reader.errors()


def test_the_page_says_that_its_server_has_ended(reader: Reader, tmp_path: Path) -> None:
    folder = write_closed_run(tmp_path / "run", run_with_prompts, seeds=1)
    with watch_run(folder) as watcher:
        reader.open(watcher.address)
        wait_until(reader, "stopped")
    wait_until(reader, "planbook watch is not responding")
    assert reader.ask("return [...document.querySelectorAll('[data-do]')].every((each) => each.disabled)")
    reader.driver.get("about:blank")
    reader.errors()
