"""The cost of building after each task, and what a user should know of what the learned rules cover."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

from rich.table import Table

from planbook.config import FOUND
from planbook.console import console, right_aligned
from planbook.knowledge import EVERYTHING, KnowledgeState, group_of
from planbook.learning.finding import with_found_type
from planbook.manuals import Coverage, goals_of, measure_coverage
from planbook.results import BuildingCost, Reached, building_cost
from planbook.rules import count
from planbook.runs import Run
from planbook.spending import prices_from


def show_cost(folder: Path, prices: Path | None, *, as_json: bool) -> BuildingCost:
    """Carry out ``planbook cost``. Raises BadRun, BadArgument, ModelError."""
    out = console(as_json)
    with closing(Run.open(folder)) as run:
        cost = building_cost(run, prices_from(prices))
    out.print(_table(cost) if cost.after else "Nothing has been learned yet.")
    if cost.formulating_calls:
        out.print(f"Formulating took {cost.formulating_calls:,} calls and {cost.formulating_tokens:,} tokens more.")
    return cost


def _table(cost: BuildingCost) -> Table:
    """Return a table of the steps that cost something."""
    columns = ("building tasks", "model calls", "tokens", "actions", "money", "rules", "types with a procedure")
    table = right_aligned(None, columns, title="what building had cost")
    last = Reached(tasks=0)
    for each in cost.after:
        if each.model_copy(update={"tasks": last.tasks}) != last:
            money = "unknown" if each.money is None else f"${each.money:.2f}"
            of = f"{each.procedures} of {cost.task_types}"
            figures = (f"{number:,}" for number in (each.calls, each.tokens, each.actions))
            table.add_row(str(each.tasks), *figures, money, str(each.rules), of)
        last = each
    return table


def coverage_of(run: Run, group: str, state: KnowledgeState) -> Coverage:
    """Compare a group's rules with the task types that they were built from, and with what planners cited."""
    learning = run.config.learning
    assert learning is not None
    tasks = [entry.task for entry in run.entries() if group_of(learning, entry.task.type) == group]
    if run.config.types == FOUND:
        told = (
            with_found_type(state.knowledge, task.model_copy(update=run.config.task_overrides(task))) for task in tasks
        )
        tasks = [task for task in told if task.type in state.knowledge.skills]
    cited = {id: evidence.cited for id, evidence in count(state.citations).items()}
    return measure_coverage(state.knowledge.rules, goals_of(tasks), cited)


def coverage_lines(run: Run, group: str, state: KnowledgeState) -> Iterator[str]:
    """Yield what a user should know of the coverage; nothing where all is well, or the run left the needed part out."""
    left_out = set(run.config.without)
    if "rules" in left_out:
        return
    found, title = coverage_of(run, group, state), "" if group == EVERYTHING else f"{group}: "
    if found.missing and "types" not in left_out:
        yield f"{title}No success process seems to cover: {', '.join(found.missing)}."
    if found.never_cited and "cooperation" not in left_out:
        yield f"{title}Never cited: {', '.join(found.never_cited)}."
    if found.dangling:
        named = sorted({id for ids in found.dangling.values() for id in ids})
        yield f"{title}Named by rules, and not there any more: {', '.join(named)}."
