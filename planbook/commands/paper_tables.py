"""``--table``: a run compared with the papers of its method and environment."""

from contextlib import closing
from pathlib import Path

from planbook.config import Config
from planbook.console import console
from planbook.papers import PaperComparison, compare_with_papers, paper_tables, publications
from planbook.results import Summary
from planbook.runs import Run
from planbook.terminal.printing import print_parts


class Tested(Summary):
    """The object that ends the output of ``--table --json``; no table for an environment that no paper has."""

    table: PaperComparison | None

    @classmethod
    def of(cls, summary: Summary, table: PaperComparison | None) -> "Tested":
        """Return the summary with a table, and with the fields that its dump leaves out."""
        return cls(**dict(summary), table=table)


def show_beside(config: Config, summary: Summary, *, as_json: bool) -> PaperComparison | None:
    """Print a run's figures beside those of the papers, or that there are none."""
    out, compared = console(as_json), compare_with_papers(config, summary)
    print_parts(out, paper_tables(compared) if compared else [_nowhere(config)])
    return compared


def with_table(summary: Summary, *, as_json: bool) -> Tested:
    """Print the comparison with papers and return the summary with it. Raises BadRun, BadKnowledge."""
    with closing(Run.open(Path(summary.run))) as run:
        config = run.config
    return Tested.of(summary, show_beside(config, summary, as_json=as_json))


def _nowhere(config: Config) -> str:
    """Say that no paper has the environment, and which ones each has."""
    told = (f"{paper.paper} has them for {_listed(paper.worlds)}." for paper in publications())
    return f"No paper has figures for {config.world.name}. {' '.join(told)}"


def _listed(names: tuple[str, ...]) -> str:
    return " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
