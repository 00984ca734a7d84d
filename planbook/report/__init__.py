"""The viewer behind `planbook report` and `planbook watch`: one HTML page, made from the stores of runs.

``page`` assembles the page from the sections of each run and from its episodes. A section is a list of ``blocks``:
paragraphs, tables and so on, as JSON. ``sections`` makes them. ``charts`` makes their charts, ``learned`` makes the
blocks about what `planbook build` learned, and ``trust`` makes the blocks about costs, outcomes and inputs.
``episodes`` makes a row for each episode and a document of everything that happened in it, and compresses the
documents. ``viewer/`` has the template, the style and the scripts.
"""

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from pydantic import BaseModel

from planbook import errors
from planbook.console import ERRORS, console
from planbook.report.page import write_page
from planbook.results.summary import Summary
from planbook.results.table import read_run
from planbook.runs import Run
from planbook.spending import prices_from

FILE = "report.html"


class ReportResult(BaseModel):
    """Output of ``report --json``."""

    report: str
    bytes: int
    runs: tuple[Summary, ...]


def report_runs(
    folders: Sequence[Path], out: Path | None, episodes: str | None, prices: Path | None = None
) -> tuple[int, ReportResult]:
    """Write a page about runs to the file ``out``, and return the exit code and the JSON output.

    By default, the page of one run is written into its folder, and a page of several runs into the current folder.
    ``episodes`` selects the episodes that can be opened: "all", "failed", a number N for the first N, or None
    for as many as fit on a page of reasonable size. ``prices`` is a price table, by default each run's own.

    Raises BadRun if a run cannot be read, BadArgument if the selection is invalid or the file cannot be written, or
    BadPrices if the price table is invalid.
    """
    price = prices_from(prices) if prices else None
    target = out or (folders[0] / FILE if len(folders) == 1 else Path(FILE))
    with ExitStack() as stack:
        runs = [stack.enter_context(closing(Run.open(folder, graphs=True))) for folder in folders]
        for run in runs:
            if run.is_played:
                note = f"Note: {run.folder} is still being played; the report shows its present state."
                ERRORS.print(note, style="yellow", soft_wrap=True)
        results = [read_run(run, name, price) for run, name in zip(runs, _names(folders), strict=True)]
        try:
            write_page(results, target, episodes)
        except OSError as error:
            raise errors.BadArgument(
                f"{target} cannot be written: {error.strerror}; name another with --out"
            ) from error
    summaries = tuple(run_results.summary() for run_results in results)
    reported = ReportResult(report=str(target), bytes=target.stat().st_size, runs=summaries)
    size = f"{reported.bytes / 1e6:.1f} MB" if reported.bytes >= 1e5 else f"{reported.bytes / 1e3:.0f} kB"
    console().print(f"{target} ({size})", soft_wrap=True)
    return errors.OK, reported


def _names(folders: Sequence[Path]) -> list[str]:
    """Return the names of the folders, or their paths where names are equal. A folder given twice gets a number."""
    paths = [folder.resolve() for folder in folders]
    counts = Counter(path.name for path in paths)
    names = [path.name if counts[path.name] == 1 else str(path) for path in paths]
    return [name if name not in names[:number] else f"{name} ({number + 1})" for number, name in enumerate(names)]
