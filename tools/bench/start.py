"""The time that planbook takes to start, compared with the time of importing pydantic.

Whole processes are measured. They start in turn, so that the load of the machine affects all alike.
"""

import subprocess
import sys
from functools import partial
from statistics import median

from tools.bench import Row
from tools.bench.timing import interleave, seconds

REPEATS = 20
PEER = "import pydantic"
MEASURED = {
    "planbook --help": ("from planbook.cli import planbook; planbook(['--help'])", 2.0),
    "import planbook.sandbox": ("import planbook.sandbox", 1.5),
}
"""Maps a name to the measured code and its maximum time, as a multiple of the time of PEER."""


def rows() -> list[Row]:
    """Return the median milliseconds of each process, and the ratio to that of PEER."""
    codes = [PEER, *(code for code, _ in MEASURED.values())]
    peer, *ours = interleave([partial(seconds, partial(_run, code)) for code in codes], REPEATS)
    figures = [Row(f"start: python -c '{PEER}'", 1e3 * median(peer), "ms")]
    for (name, (_, limit)), times in zip(MEASURED.items(), ours, strict=True):
        ratio = median(times) / median(peer)
        goal = f"at most {limit:g} times"
        figures.append(Row(f"start: {name}", 1e3 * median(times), "ms", ratio, PEER, goal=goal, met=ratio <= limit))
    return figures


def _run(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
