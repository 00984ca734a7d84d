"""How long planbook takes to start, beside importing pydantic: whole processes, each in its turn."""

import subprocess
import sys
from functools import partial
from statistics import median

from tools.bench import Row
from tools.bench.timing import in_turn, seconds

REPEATS = 20
PEER = "import pydantic"
MEASURED = {
    "planbook --help": ("from planbook.cli import planbook; planbook(['--help'])", 2.0),
    "import planbook.sandbox": ("import planbook.sandbox", 1.5),
}
"""Name to the code, and to how many times the peer's time it may take."""


def rows() -> list[Row]:
    """Milliseconds of a whole process, the median of some, and the ratio to the peer's in the same turns."""
    codes = [PEER, *(code for code, _ in MEASURED.values())]
    peer, *ours = in_turn([partial(seconds, partial(_run, code)) for code in codes], REPEATS)
    found = [Row(f"start: python -c '{PEER}'", 1e3 * median(peer), "ms")]
    for (name, (_, limit)), times in zip(MEASURED.items(), ours, strict=True):
        ratio = median(times) / median(peer)
        goal = f"at most {limit:g} times"
        found.append(Row(f"start: {name}", 1e3 * median(times), "ms", ratio, PEER, goal=goal, met=ratio <= limit))
    return found


def _run(code: str) -> None:
    subprocess.run([sys.executable, "-c", code], check=True, stdout=subprocess.DEVNULL)
