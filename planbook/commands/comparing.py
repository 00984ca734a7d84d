"""The commands that hold runs against each other: two, pair by pair; any number, as a table."""

import json
from pathlib import Path

import click

from planbook import errors
from planbook.options import JSON

RUN_FOLDER = click.Path(path_type=Path, exists=True, file_okay=False)
PRICES = click.option(
    "--prices", default=None, type=click.Path(path_type=Path, dir_okay=False), help="A price table of your own."
)
LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@click.command()
@click.argument("runs", nargs=-1, required=True, type=RUN_FOLDER, metavar="RUN RUN...")
@PRICES
@JSON
def compare(runs: tuple[Path, ...], prices: Path | None, as_json: bool) -> int:
    """Hold a RUN against another, or several, over the same tasks: success, who changed sides, costs, and noise."""
    from planbook.figures.gathering import gather
    from planbook.figures.paired import compare_all
    from planbook.figures.paired_sheets import comparison_parts
    from planbook.printing import console, harmless
    from planbook.spending import prices_from

    if len(runs) < 2 or len({run.resolve() for run in runs}) < len(runs):
        raise errors.BadArgument("compare takes two runs or more, each of them once: planbook compare RUN RUN")
    price = prices_from(prices)
    found = compare_all([gather(run, price) for run in runs])
    out = console(as_json)
    for number, compared in enumerate(found, 1):
        for part in comparison_parts(compared, letter(number)):
            out.print(harmless(part) if isinstance(part, str) else part, markup=False, soft_wrap=isinstance(part, str))
    if as_json:
        click.echo(json.dumps({"comparisons": [compared.model_dump(mode="json") for compared in found]}))
    return errors.OK


def letter(number: int) -> str:
    """The name of a run in the tables; of many, a number."""
    return LETTERS[number] if number < len(LETTERS) else f"run {number + 1}"
