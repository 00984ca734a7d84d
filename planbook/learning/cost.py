"""The cost of a run of `planbook build` after each of its tasks, and the task types that the learned rules cover."""

from collections.abc import Iterator
from contextlib import closing
from itertools import pairwise
from pathlib import Path

from planbook.config import FOUND
from planbook.console import console, table_of
from planbook.knowledge import EVERYTHING, KnowledgeState, group_of
from planbook.learning.finding import with_found_type
from planbook.manuals import Coverage, goals_of, measure_coverage
from planbook.planner import Grid
from planbook.results import read_run
from planbook.results.learning_cost import BuildingCost, BuildingState
from planbook.rules import count_evidence
from planbook.runs import Run
from planbook.spending import prices_from
from planbook.wording import counted


def show_cost(folder: Path, prices: Path | None) -> BuildingCost:
    """Print the output of ``planbook cost``, and return the cost.

    Raises BadRun if the run cannot be read, BadArgument if it is not a run of `planbook build`, or BadPrices if the
    price table is invalid.
    """
    out = console()
    with closing(Run.open(folder)) as run:
        cost = read_run(run, price=prices_from(prices) if prices else None).building_cost()
    out.print(table_of(cost_table(cost)) if cost.after else "Nothing has been learned yet.")
    if cost.formulating_calls:
        calls = counted(cost.formulating_calls, "call")
        out.print(f"In addition, formulating took {calls} and {cost.formulating_tokens:,} tokens.")
    return cost


def cost_table(cost: BuildingCost) -> Grid:
    """Return a table of the cost so far after each task. Tasks that changed no column have no row."""
    columns = ("model calls", "tokens", "actions", "money", "rules", "types with a procedure")
    rows = [_cost_row(step, cost.task_types) for step in (BuildingState(tasks=0), *cost.after)]
    changed = [row for previous, row in pairwise(rows) if row[1:] != previous[1:]]
    return Grid("cost of building so far", "building tasks", columns, changed)


def _cost_row(step: BuildingState, task_types: int) -> tuple[str, ...]:
    money = "unknown" if step.money is None else f"${step.money:.2f}"
    counts = (f"{number:,}" for number in (step.tasks, step.calls, step.tokens, step.actions))
    return (*counts, money, str(step.rules), f"{step.procedures} of {task_types}")


def coverage_of(run: Run, group: str, state: KnowledgeState) -> Coverage:
    """Return how the rules of a group cover the task types that they were built from, and which rules were cited.

    A group is a set of task types that share their rules.
    """
    learning = run.config.learning
    assert learning is not None
    tasks = [entry.task for entry in run.entries() if group_of(learning, entry.task.type) == group]
    if run.config.types == FOUND:
        typed = (
            with_found_type(state.knowledge, task.model_copy(update=run.config.task_overrides(task))) for task in tasks
        )
        tasks = [task for task in typed if task.type in state.knowledge.skills]
    cited = {id: evidence.cited for id, evidence in count_evidence(state.citations).items()}
    return measure_coverage(state.knowledge.rules, goals_of(tasks), cited)


def coverage_lines(run: Run, group: str, state: KnowledgeState) -> Iterator[str]:
    """Yield a sentence for each kind of gap, except in parts that the run leaves out or cannot learn."""
    left_out, learning = set(run.config.without), run.config.learning
    assert learning is not None
    if "rules" in left_out:
        return
    coverage, title = coverage_of(run, group, state), "" if group == EVERYTHING else f"{group}: "
    if coverage.missing and "types" not in left_out and not learning.libraries_only:
        yield f"{title}No success process (rule with a working solution) seems to cover: {', '.join(coverage.missing)}."
    if coverage.never_cited and "cooperation" not in left_out:
        yield f"{title}Never cited: {', '.join(coverage.never_cited)}."
    if coverage.dangling:
        named = sorted({id for ids in coverage.dangling.values() for id in ids})
        yield f"{title}Cited by rules, but no longer existing: {', '.join(named)}."
