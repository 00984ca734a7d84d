"""A run beside the papers: what ``--table`` prints."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from rich.table import Table

from planbook.config import Config
from planbook.figures.summary import Summary
from planbook.papers import Beside, Comparison, automanual, beside, compare, lines, publications, sheets, tables
from planbook.printing import console
from planbook.run import Run


class Tested(Summary):
    """The object that ends the standard output of ``--table --json``; no table for a world that no paper has."""

    table: Comparison | Beside | None


def show_beside(config: Config, summary: Summary, *, as_json: bool) -> Comparison | Beside | None:
    """Print a run's figures beside those of the paper that has its method and world, or that there are none."""
    out, compared = console(as_json), _compared(config, summary)
    if compared is None:
        out.print(_nowhere(config), soft_wrap=True)
        return None
    for part in _parts(compared):
        out.print(part, markup=False, soft_wrap=isinstance(part, str))
    return compared


def with_table(summary: Summary, *, as_json: bool) -> Tested:
    """A summary with what the papers say beside, which is printed, too. Raises BadRun."""
    with closing(Run.open(Path(summary.run))) as run:
        config = run.config
    return Tested(**summary.model_dump(), table=show_beside(config, summary, as_json=as_json))


def _compared(config: Config, summary: Summary) -> Comparison | Beside | None:
    """AutoManual's figures where it has the world, unless the method is another paper's."""
    others = {planner for paper in publications() if config.world.name in paper.worlds for planner in paper.planners}
    if config.planner in others:
        return beside(config, summary)
    return compare(config, summary) or beside(config, summary)


def _parts(compared: Comparison | Beside) -> Iterator[Table | str]:
    if isinstance(compared, Beside):
        yield from sheets(compared)
    else:
        yield from tables(compared)
        yield from lines(compared)


def _nowhere(config: Config) -> str:
    """That no paper has the world, and which ones each has."""
    known = {automanual().paper: sorted(automanual().settings)}
    known |= {paper.paper: list(paper.worlds) for paper in publications()}
    told = (f"{paper} has them for {_listed(worlds)}." for paper, worlds in known.items())
    return f"No paper has figures for {config.world.name}. {' '.join(told)}"


def _listed(names: list[str]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
