"""What commands print about papers: their settings (``--paper``), and their figures next to a run's (``--table``)."""

from contextlib import closing
from pathlib import Path

from planbook.config import Config
from planbook.console import ERRORS, console
from planbook.papers import publications
from planbook.papers.comparison import PaperComparison, compare_with_papers, paper_tables
from planbook.papers.settings import paper_settings
from planbook.results.summary import Summary
from planbook.runs import Run
from planbook.terminal import print_parts


def print_paper_settings(config: Config) -> None:
    """Print the settings that ``--paper`` has taken from a paper."""
    building, chosen = config.learning is not None, config.selection
    settings = paper_settings(config.planner, config.env, chosen.split or "", chosen.types, building=building)
    ERRORS.print(f"Settings of {settings.paper}: {settings}", soft_wrap=True, markup=False, highlight=False)


class SummaryWithTable(Summary):
    """Output of ``--table --json``. ``table`` is None if no paper has figures for the environment."""

    table: PaperComparison | None


def with_table(summary: Summary) -> SummaryWithTable:
    """Print a run's figures next to the figures of papers, and return the run's summary with this table.

    Raises BadRun or BadKnowledge if the run or the manual that it used cannot be read.
    """
    with closing(Run.open(Path(summary.run))) as run:
        config = run.config
    comparison = compare_with_papers(config, summary)
    print_parts(console(), paper_tables(comparison) if comparison else [_no_figures(config)])
    return SummaryWithTable(**dict(summary), table=comparison)


def _no_figures(config: Config) -> str:
    papers = (f"{paper.paper} has them for {', '.join(paper.environments)}." for paper in publications())
    return f"No paper has figures for {config.environment.name}. {' '.join(papers)}"
