"""The viewer behind `planbook report` and `planbook watch`: one HTML page, read from the stores of runs alone.

``page`` puts it together. ``sections`` says what came out of a run in ``blocks`` of JSON, with its ``charts``, what was
``learned``, the ``branches`` that were forked from it, and costs and what is needed to ``trust`` the figures.
``episodes`` gives a row for each episode and a document of what happened in it, and packs these.
``viewer/`` has the template, style and scripts.
"""

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from planbook import errors
from planbook.console import ERRORS, console
from planbook.report.episodes import episode_document, row, visible
from planbook.report.page import rendered, script, script_hash, view, write_page
from planbook.report.sections import sections
from planbook.results import RunResults, Summary, read_run
from planbook.runs import Run
from planbook.spending import prices_from

__all__ = [
    "episode_document",
    "rendered",
    "report_runs",
    "row",
    "script",
    "script_hash",
    "sections",
    "view",
    "visible",
    "write_page",
]

FILE = "report.html"


class Reported(BaseModel):
    """The object that ends the standard output of ``--json``."""

    model_config = ConfigDict(frozen=True)

    report: str
    bytes: int
    runs: tuple[Summary, ...]


def report_runs(
    folders: Sequence[Path], out: Path | None, episodes: str | None, prices: Path | None = None, *, as_json: bool
) -> tuple[int, Reported]:
    """Write the page of one run into its folder, of several into the current one, unless ``out`` names a file.

    ``episodes`` says which are shown cell by cell: all, failed, a number, or None for what still opens well; ``prices``
    is a table of prices, by default the one that ships. Raises BadRun, BadArgument, BadPrices.
    """
    price = prices_from(prices)
    target = out or (folders[0] / FILE if len(folders) == 1 else Path(FILE))
    with ExitStack() as opened:
        runs = [opened.enter_context(closing(Run.open(folder, graphs=True))) for folder in folders]
        for run in runs:
            if run.is_played:
                told = f"Note: {run.folder} is still being played; the report shows its present state."
                ERRORS.print(told, style="yellow", soft_wrap=True)
        read = [read_run(run, name, price) for run, name in zip(runs, _names(folders), strict=True)]
        _write(read, target, episodes)
    done = Reported(report=str(target), bytes=target.stat().st_size, runs=tuple(each.summary() for each in read))
    shown = f"{done.bytes / 1e6:.1f} MB" if done.bytes >= 1e5 else f"{done.bytes / 1e3:.0f} kB"
    console(as_json).print(f"{target} ({shown})", soft_wrap=True)
    return errors.OK, done


def _write(read: Sequence[RunResults], target: Path, episodes: str | None) -> None:
    try:
        write_page(read, target, episodes)
    except OSError as error:
        raise errors.BadArgument(f"{target} cannot be written: {error.strerror}; name another with --out") from error


def _names(folders: Sequence[Path]) -> list[str]:
    """The folders' own names, or whole paths where two are alike; a folder given twice is numbered."""
    whole = [folder.resolve() for folder in folders]
    alike = Counter(path.name for path in whole)
    names = [path.name if alike[path.name] == 1 else str(path) for path in whole]
    return [name if name not in names[:number] else f"{name} ({number + 1})" for number, name in enumerate(names)]
