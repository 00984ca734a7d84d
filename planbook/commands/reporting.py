"""The command that tells runs in one HTML file."""

from pathlib import Path

import click

from planbook.options import JSON, PRICES, RUN_FOLDER
from planbook.report import report_runs
from planbook.terminal.printing import answer


@click.command()
@click.argument("runs", nargs=-1, required=True, type=RUN_FOLDER, metavar="RUN...")
@click.option("--out", default=None, type=click.Path(path_type=Path, dir_okay=False), help="The file to write.")
@click.option(
    "--episodes",
    default=None,
    metavar="all|failed|N",
    help="Episodes to include: all, failed, or the first N; by default as many as fit in 25 MB.",
)
@PRICES
@JSON
def report(runs: tuple[Path, ...], out: Path | None, episodes: str | None, prices: Path | None, as_json: bool) -> int:
    """Tell runs in one HTML file: tables, charts, and every episode cell by cell with its prompts."""
    code, reported = report_runs(runs, out, episodes, prices, as_json=as_json)
    return answer(code, reported, as_json=as_json)
