"""A run beside the papers: what ``--table`` prints."""

from contextlib import closing
from pathlib import Path

from planbook.config import Config
from planbook.console import console
from planbook.papers import Beside, beside, publications, sheets
from planbook.results import Summary
from planbook.run import Run
from planbook.terminal.printing import print_parts


class Tested(Summary):
    """The object that ends the standard output of ``--table --json``; no table for a world that no paper has."""

    table: Beside | None

    @classmethod
    def of(cls, summary: Summary, table: Beside | None) -> "Tested":
        """Return the summary with a table; what its dump leaves out stays in it."""
        return cls(**dict(summary), table=table)


def show_beside(config: Config, summary: Summary, *, as_json: bool) -> Beside | None:
    """Print a run's figures beside those of the papers that have its method and world, or that there are none."""
    out, compared = console(as_json), beside(config, summary)
    print_parts(out, sheets(compared) if compared else [_nowhere(config)])
    return compared


def with_table(summary: Summary, *, as_json: bool) -> Tested:
    """A summary with what the papers say beside, which is printed, too. Raises BadRun, BadKnowledge."""
    with closing(Run.open(Path(summary.run))) as run:
        config = run.config
    return Tested.of(summary, show_beside(config, summary, as_json=as_json))


def _nowhere(config: Config) -> str:
    """That no paper has the world, and which ones each has."""
    told = (f"{paper.paper} has them for {_listed(paper.worlds)}." for paper in publications())
    return f"No paper has figures for {config.world.name}. {' '.join(told)}"


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
