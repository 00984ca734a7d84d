"""`planbook report`: runs told in one HTML file, read from their stores alone.

``page`` puts the page together, by ``rendering`` its templates:
``tables``, ``charts``, ``costs``, what is needed to ``trust`` them, what was ``learnt`` with the ``rulings`` of each
rule, and the ``episodes``, with what happened ``inside`` them. ``packing`` keeps what is not shown at first;
``markdown`` is what models wrote so.
"""

from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack, closing
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from planbook import errors
from planbook.console import ERRORS, console
from planbook.report.page import write_page
from planbook.results import RunResults, Summary, read_run
from planbook.run import Run
from planbook.spending import prices_from

__all__ = ["Reported", "report_runs"]

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
                told = f"Mind: {run.folder} is still being played; the report has it as it stands now."
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
