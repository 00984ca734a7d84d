"""The report of 3,553 episodes with prompts (ALFWorld's training games): time, memory, size, and how fast it opens.

The run is played for it: AutoManual on generated games, by a scripted model whose plans are as long as a model's.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from resource import struct_rusage
from statistics import median

from planbook.commands.playing import play
from planbook.envs.browser import chromium
from planbook.settings import Settings
from planbook.workers import Hosting
from tools.bench import Row, household
from tools.bench.timing import seconds

EPISODES, TYPES = 3_553, 6
OPENINGS = 5
SECONDS, MEGABYTES, MILLISECONDS = 17.0, 11.0, 2_000.0
"""The limits, of all these episodes."""
OPENED = """const done = arguments[0], begun = performance.now();
const { loadEventEnd } = performance.getEntriesByType("navigation")[0];
document.querySelector(".episode").scrollIntoView();
requestAnimationFrame(() => setTimeout(() => done([loadEventEnd, loadEventEnd + performance.now() - begun])));"""
"""Milliseconds from the start of the navigation until all is loaded, and until the first episode's line is painted."""


def rows(episodes: int = EPISODES) -> list[Row]:
    """Seconds and memory to write, megabytes, and milliseconds until Chromium has opened the page."""
    with tempfile.TemporaryDirectory() as folder:
        run, page = Path(folder, "run"), Path(folder, "report.html")
        _played(run, episodes)
        used: list[struct_rusage] = []
        spent = seconds(lambda: used.append(_write(run, page)))
        size = page.stat().st_size / 1e6
        source = f"{episodes:,} episodes with prompts, a store of {(run / 'run.db').stat().st_size / 1e6:.0f} MB"
        return [
            _row("report: written", spent, "s", SECONDS, source),
            Row("report: written, processor time", used[0].ru_utime + used[0].ru_stime, "s"),
            Row("report: written, most memory", used[0].ru_maxrss / 1e3, "MB"),
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


def _write(folder: Path, page: Path) -> struct_rusage:
    """Write the page by the command, in a process of its own; return what that used."""
    command = [sys.executable, "-m", "planbook", "report", str(folder), "--out", str(page), "--json"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return os.wait4(process.pid, 0)[2]


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
