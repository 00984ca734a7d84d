"""`planbook compare` and `planbook stats`: runs pair by pair, or any number of them as a table."""

from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from planbook import errors
from planbook.compare import compare_all, comparison_parts, full_name, group_parts, group_rows, setting, wanted
from planbook.console import ERRORS, console
from planbook.options import JSON, PRICES, RUN_FOLDER
from planbook.results import RunResults, read_folder
from planbook.runs import CONFIG_FILE, is_run
from planbook.spending import Price, prices_from
from planbook.terminal.printing import answer, print_parts
from planbook.wording import harmless

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


@click.command()
@click.argument("runs", nargs=-1, required=True, type=RUN_FOLDER, metavar="RUN RUN...")
@PRICES
@JSON
def compare(runs: tuple[Path, ...], prices: Path | None, as_json: bool) -> int:
    """Compare the first RUN with each of the others over the same tasks: successes, costs, and whether it is noise.

    Tasks are paired by id, seed and repeat, and every figure is over these pairs. Broken episodes and those not run
    count as not solved, and are listed separately. Measures of the environment, such as a reward, are compared over the
    pairs that both runs played.

    A difference is more than noise if p is below 0.05, after Holm's correction where there are several. An interval
    shows how large the difference may be, and is not corrected; near the bound the two can disagree, and p decides.
    """
    if len({run.resolve() for run in runs}) < max(2, len(runs)):
        raise errors.BadArgument("compare takes two runs or more, each of them once: planbook compare RUN RUN")
    price = prices_from(prices)
    found = compare_all([read_folder(run, price) for run in runs])
    for number, compared in enumerate(found, 1):
        print_parts(console(as_json), comparison_parts(compared, _letter(number)))
    return answer(errors.OK, {"comparisons": [each.model_dump(mode="json") for each in found]}, as_json=as_json)


@click.command()
@click.argument("runs", nargs=-1, required=True, type=RUN_FOLDER, metavar="RUN...")
@click.option(
    "--by",
    default="",
    show_default=False,
    metavar="NAME,...",
    help="One row for all runs that are alike in these settings.",
)
@click.option(
    "--where", "where", multiple=True, metavar="NAME=VALUE,...", help="Only runs with these settings: planner=adapt."
)
@PRICES
@JSON
def stats(runs: tuple[Path, ...], by: str, where: tuple[str, ...], prices: Path | None, as_json: bool) -> int:
    """Show runs in one table, a row for each run or group; a folder stands for all runs below it.

    NAME is a setting as in run.json, such as planner, env, seed, selection.split, models.default.
    """
    gathered, unreadable = _readable(runs, prices_from(prices))
    chosen = _chosen(gathered, where)
    names = [full_name(name, (run.run.config for run in gathered)) for name in by.split(",") if name]
    found = group_rows(chosen, names)
    print_parts(console(as_json), group_parts(found))
    faults = {run.name: faults for run in chosen if (faults := run.contradictions())}
    for folder, each in faults.items():
        for fault in each:
            ERRORS.print(f"{folder} contradicts itself: {harmless(fault)}", style="red", soft_wrap=True)
    told = {
        "rows": [row.model_dump(mode="json") for row in found],
        "left_out": len(gathered) - len(chosen),
        "unreadable": unreadable,
        "contradictions": faults,
    }
    return answer(errors.BROKEN if faults else errors.OK, told, as_json=as_json)


def runs_in(folder: Path) -> list[Path]:
    """Return the folder if it is a run, else the runs that lie below it."""
    if is_run(folder):
        return [folder]
    below = sorted(path.parent for path in folder.rglob(CONFIG_FILE))
    return [run for run in below if not any(other in run.parents for other in below)]


def _readable(folders: Iterable[Path], price: Price) -> tuple[list[RunResults], dict[str, str]]:
    """Return the runs that can be read, and why the other folders cannot. Raises BadRun if none can."""
    gathered: dict[Path, RunResults] = {}
    unreadable: dict[str, str] = {}
    for folder in folders:
        found = runs_in(folder)
        if not found:
            unreadable[str(folder)] = f"{folder} holds no run, and none lies below it"
        for run in found:
            try:
                gathered[run.resolve()] = read_folder(run, price)
            except errors.REPORTED as error:
                unreadable[str(run)] = str(error)
    for why in unreadable.values():
        ERRORS.print(f"Left out: {why}", style="yellow", markup=False, soft_wrap=True)
    if not gathered:
        raise errors.BadRun("no run is left that can be read")
    return list(gathered.values()), unreadable


def _chosen(runs: Sequence[RunResults], where: Sequence[str]) -> list[RunResults]:
    """Return the runs with these settings. Raises BadArgument if there is none, naming the values that there are."""
    chosen = list(runs)
    for asked, value in wanted(where).items():
        name = full_name(asked, (run.run.config for run in runs))
        values = sorted({setting(run.run.config, name) for run in chosen})
        chosen = [run for run in chosen if setting(run.run.config, name) == value]
        if not chosen:
            raise errors.BadArgument(f"--where {asked}={value}: no run is left; {name} is {', '.join(values)}")
    return chosen


def _letter(number: int) -> str:
    return LETTERS[number] if number < len(LETTERS) else f"run {number + 1}"
