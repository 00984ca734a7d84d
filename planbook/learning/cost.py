"""The cost of building after each task, and the coverage of the learned rules."""

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
    """Return a table of the steps, without those that changed nothing."""
    columns = ("building tasks", "model calls", "tokens", "actions", "money", "rules", "types with a procedure")
    table = right_aligned(None, columns, title="cost of building so far")
    last = Reached(tasks=0)
    for step in cost.after:
        if step.model_copy(update={"tasks": last.tasks}) != last:
            money = "unknown" if step.money is None else f"${step.money:.2f}"
            procedures = f"{step.procedures} of {cost.task_types}"
            figures = (f"{number:,}" for number in (step.calls, step.tokens, step.actions))
            table.add_row(str(step.tasks), *figures, money, str(step.rules), procedures)
        last = step
    return table


def coverage_of(run: Run, group: str, state: KnowledgeState) -> Coverage:
    """Compare a group's rules with the task types that they were built from, and with the citations of planners."""
    learning = run.config.learning
    assert learning is not None
    tasks = [entry.task for entry in run.entries() if group_of(learning, entry.task.type) == group]
    if run.config.types == FOUND:
        typed = (
            with_found_type(state.knowledge, task.model_copy(update=run.config.task_overrides(task))) for task in tasks
        )
        tasks = [task for task in typed if task.type in state.knowledge.skills]
    cited = {id: evidence.cited for id, evidence in count(state.citations).items()}
    return measure_coverage(state.knowledge.rules, goals_of(tasks), cited)


def coverage_lines(run: Run, group: str, state: KnowledgeState) -> Iterator[str]:
    """Yield gaps in the coverage, except those in parts that the run leaves out."""
    left_out = set(run.config.without)
    if "rules" in left_out:
        return
    coverage, title = coverage_of(run, group, state), "" if group == EVERYTHING else f"{group}: "
    if coverage.missing and "types" not in left_out:
        yield f"{title}No success process seems to cover: {', '.join(coverage.missing)}."
    if coverage.never_cited and "cooperation" not in left_out:
        yield f"{title}Never cited: {', '.join(coverage.never_cited)}."
    if coverage.dangling:
        named = sorted({id for ids in coverage.dangling.values() for id in ids})
        yield f"{title}Cited by rules, but no longer existing: {', '.join(named)}."
