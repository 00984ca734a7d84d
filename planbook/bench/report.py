"""The report of a thousand episodes with prompts: how long it is written, how large it is, how fast it opens.

The run is played for it: AutoManual on generated games, by a scripted model whose plans are as long as a model's.
"""

import tempfile
import time
from contextlib import closing
from pathlib import Path
from statistics import median

from planbook.bench import Row, household
from planbook.bench.timing import seconds
from planbook.commands.playing import play
from planbook.envs.browser import chromium
from planbook.report import write_page
from planbook.results import read_run
from planbook.runs import Run
from planbook.settings import Settings
from planbook.workers import Hosting

EPISODES, TYPES = 1_000, 6
OPENINGS = 5
SECONDS, MEGABYTES, MILLISECONDS = 30.0, 25.0, 2_000.0
"""The limits, of a thousand episodes."""
OPENED = """const done = arguments[0], begun = performance.now();
const { loadEventEnd } = performance.getEntriesByType("navigation")[0];
document.querySelector(".episode").scrollIntoView();
requestAnimationFrame(() => setTimeout(() => done([loadEventEnd, loadEventEnd + performance.now() - begun])));"""
"""Milliseconds from the start of the navigation until all is loaded, and until the first episode's line is painted."""


def rows(episodes: int = EPISODES) -> list[Row]:
    """Seconds to write, megabytes, and milliseconds until Chromium has opened the page."""
    with tempfile.TemporaryDirectory() as folder:
        run, page = Path(folder, "run"), Path(folder, "report.html")
        _played(run, episodes)
        begun = time.process_time()
        spent = seconds(lambda: _write(run, page))
        worked = time.process_time() - begun
        size = page.stat().st_size / 1e6
        source = f"{episodes:,} episodes with prompts, a store of {(run / 'run.db').stat().st_size / 1e6:.0f} MB"
        return [
            _row("report: written", spent, "s", SECONDS, source),
            Row("report: written, processor time", worked, "s"),
            _row("report: size", size, "MB", MEGABYTES),
            *_opened(page),
        ]


def _played(folder: Path, episodes: int) -> None:
    asked = Settings.of(
        env="alfworld",
        split=f"generated:{episodes}",
        seeds=f"0-{-(-episodes // TYPES)}",
        models=(f"scripted:{Path(household.__file__)}:{household.answer.__name__}",),
    )
    play(asked.config("automanual"), folder, Hosting(), as_json=True)


def _write(folder: Path, page: Path) -> None:
    with closing(Run.open(folder)) as run:
        write_page([read_run(run, folder.name)], page, None)


def _opened(page: Path) -> list[Row]:
    """Milliseconds from the start of the navigation, or a row that says why there are none."""
    if not all(each.found for each in chromium.requirements()):
        return [Row("report: no browser here to open it", None, "")]
    loaded, painted = (median(times) for times in zip(*(_open(page) for _ in range(OPENINGS)), strict=True))
    return [
        _row("report: loaded by Chromium", loaded, "ms", MILLISECONDS, f"median of {OPENINGS}"),
        _row("report: loaded, first episode's line painted", painted, "ms", MILLISECONDS, f"median of {OPENINGS}"),
    ]


def _open(page: Path) -> tuple[float, float]:
    driver = chromium.shared().driver
    driver.get("about:blank")
    driver.get(page.as_uri())
    loaded, painted = driver.execute_async_script(OPENED)
    return float(loaded), float(painted)


def _row(name: str, value: float, unit: str, limit: float, source: str = "") -> Row:
    return Row(name, value, unit, None, source, f"under {limit:,g} {unit}", value < limit)
