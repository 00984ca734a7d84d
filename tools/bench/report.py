"""The report of a large run: the time and memory of writing it, its size, and the time that a browser takes to open it.

The run has 3,553 episodes with prompts, as many as ALFWorld has training games. It is played first: AutoManual plays
generated games with a scripted model, whose plans are as long as those of a real model.
"""

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from resource import struct_rusage
from statistics import median

from planbook.commands.playing import play
from planbook.envs import chromium
from planbook.settings import Settings
from planbook.workers import Execution
from tools.bench import Row, household
from tools.bench.timing import seconds

EPISODES, TYPES = 3_553, 6
OPENINGS = 5
MAX_SECONDS, MAX_MEGABYTES, MAX_MILLISECONDS = 17.0, 11.0, 2_000.0
"""The goals: the limits on the time of writing the page, on its size, and on the time of opening it."""
OPENING_SCRIPT = """const done = arguments[0], begun = performance.now();
const { loadEventEnd } = performance.getEntriesByType("navigation")[0];
document.querySelector(".episode").scrollIntoView();
requestAnimationFrame(() => setTimeout(() => done([loadEventEnd, loadEventEnd + performance.now() - begun])));"""
"""Returns the milliseconds from the start of the navigation until the page was loaded, and until its first episode was
painted.
"""


def rows(episodes: int = EPISODES) -> list[Row]:
    """Return the time and memory of writing the page, its size, and the time that Chromium takes to open it."""
    with tempfile.TemporaryDirectory() as folder:
        run, page = Path(folder, "run"), Path(folder, "report.html")
        _play(run, episodes)
        usage: list[struct_rusage] = []
        elapsed = seconds(lambda: usage.append(_write(run, page)))
        size = page.stat().st_size / 1e6
        source = f"{episodes:,} episodes with prompts, a store of {(run / 'run.db').stat().st_size / 1e6:.0f} MB"
        return [
            _row("report: written", elapsed, "s", MAX_SECONDS, source),
            Row("report: written, processor time", usage[0].ru_utime + usage[0].ru_stime, "s"),
            Row("report: written, most memory", usage[0].ru_maxrss / 1e3, "MB"),
            _row("report: size", size, "MB", MAX_MEGABYTES),
            *_opening_rows(page),
        ]


def _play(folder: Path, episodes: int) -> None:
    settings = Settings.of(
        env="alfworld",
        split=f"generated:{episodes}",
        seeds=f"0-{-(-episodes // TYPES)}",
        models=(f"scripted:{Path(household.__file__)}:{household.answer.__name__}",),
    )
    play(settings.config("automanual"), folder, Execution())


def _write(folder: Path, page: Path) -> struct_rusage:
    """Write the page with ``planbook report`` in another process. Return the resource usage of that process."""
    command = [sys.executable, "-m", "planbook", "report", str(folder), "--out", str(page), "--json"]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    return os.wait4(process.pid, 0)[2]


def _opening_rows(page: Path) -> list[Row]:
    """Return rows with the times of opening the page, or a row that says that there is no browser."""
    if not all(requirement.found for requirement in chromium.requirements()):
        return [Row("report: no browser here to open it", None, "")]
    loaded, painted = (median(times) for times in zip(*(_open(page) for _ in range(OPENINGS)), strict=True))
    return [
        _row("report: loaded by Chromium", loaded, "ms", MAX_MILLISECONDS, f"median of {OPENINGS}"),
        _row("report: loaded, first episode's line painted", painted, "ms", MAX_MILLISECONDS, f"median of {OPENINGS}"),
    ]


def _open(page: Path) -> tuple[float, float]:
    driver = chromium.shared_browser().driver
    driver.get("about:blank")
    driver.get(page.as_uri())
    loaded, painted = driver.execute_async_script(OPENING_SCRIPT)
    return float(loaded), float(painted)


def _row(name: str, value: float, unit: str, limit: float, source: str = "") -> Row:
    return Row(name, value, unit, None, source, f"under {limit:,g} {unit}", value < limit)
