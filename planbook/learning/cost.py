"""The cost of building after each task, until procedures do the work; and what the learned rules cover."""

from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, ConfigDict
from rich.table import Table

from planbook.config import FOUND
from planbook.console import console, right_aligned
from planbook.errors import BadArgument
from planbook.knowledge import EVERYTHING, LEARNT, SPOILT, KnowledgeState, group_of, learnt_in
from planbook.learning.finding import typed
from planbook.manuals import Coverage, coverage
from planbook.manuals.coverage import goals_of
from planbook.planner import Spent
from planbook.planner.budget import add_cost
from planbook.rules import count
from planbook.runs import Run
from planbook.spending import Price, prices_from
from planbook.wording import counted

FORMULATING = "formulate/"


class Reached(BaseModel):
    """The state and cost of a building run after a number of tasks, without formulating.

    What episodes had cost that were copied from other runs is theirs. ``actions`` are those of the episodes and of
    verifying procedures; ``money`` is in US dollars, None where a price is
    unknown. ``procedures`` counts the task types that have one.
    """

    model_config = ConfigDict(frozen=True)

    tasks: int
    calls: int = 0
    tokens: int = 0
    actions: int = 0
    money: float | None = 0.0
    rules: int = 0
    procedures: int = 0


class BuildingCost(BaseModel):
    """The object at the end of the output of ``planbook cost --json``; ``after`` has each building task, in order."""

    model_config = ConfigDict(frozen=True)

    after: tuple[Reached, ...]
    task_types: int
    formulating_calls: int
    formulating_tokens: int
    run: str


def show_cost(folder: Path, prices: Path | None, *, as_json: bool) -> BuildingCost:
    """Carry out ``planbook cost``. Raises BadRun, BadArgument, ModelError."""
    out = console(as_json)
    with closing(Run.open(folder)) as run:
        cost = building_cost(run, prices_from(prices))
    out.print(_table(cost) if cost.after else "Nothing has been learned yet.")
    if cost.formulating_calls:
        out.print(f"Formulating took {cost.formulating_calls:,} calls and {cost.formulating_tokens:,} tokens more.")
    return cost


def building_cost(run: Run, price: Price | None = None) -> BuildingCost:
    """Read what a building run had spent at each step. Raises BadArgument for any other run."""
    if run.config.learning is None:
        raise BadArgument(f"{run.folder} is no building run; only runs of `planbook build` have a cost of building")
    price = price or prices_from(None)
    formulating = Spent()
    for event in run.store.events(FORMULATING.rstrip("/"), "ask"):
        formulating = add_cost(formulating, event.kind, event.body, price)
    return BuildingCost(
        after=tuple(_steps(run, price)),
        task_types=_number_of_types(run),
        formulating_calls=formulating.calls,
        formulating_tokens=formulating.tokens,
        run=str(run.folder),
    )


def _number_of_types(run: Run) -> int:
    if run.config.types == FOUND:
        return sum(len(state.knowledge.found) for state in learnt_in(run).values())
    return len({entry.task.type for entry in run.entries()})


def reached_after(cost: BuildingCost, tasks: int) -> Reached:
    """Return what building had reached after a number of tasks."""
    return next((each for each in reversed(cost.after) if each.tasks <= tasks), Reached(tasks=0))


def cost_line(cost: BuildingCost) -> str:
    """Return a line with the cost until the last procedure was found; empty if there is none."""
    most = max((each.procedures for each in cost.after), default=0)
    if not most:
        return ""
    at = next(each for each in cost.after if each.procedures == most)
    return (
        f"Procedures for {most} of {counted(cost.task_types, 'task type')} after {counted(at.tasks, 'task')}: "
        f"{counted(at.calls, 'call')}, {at.tokens:,} tokens and {counted(at.actions, 'action')} until then."
    )


def _steps(run: Run, price: Price) -> Iterator[Reached]:
    assert run.config.learning is not None
    kinds = {entry.index: entry.task.type for entry in run.entries()}
    spent, known = Spent(), dict[str, tuple[int, int]]()
    for event in run.own_events():
        if event.scope.startswith(FORMULATING):
            continue
        spent = add_cost(spent, event.kind, event.body, price)
        match = LEARNT.fullmatch(event.scope)
        if match and event.kind == "learnt" and SPOILT not in event.body:
            index, knowledge = int(match[1]), cast(Any, event.body)["knowledge"]
            known[group_of(run.config.learning, kinds[index])] = (len(knowledge["rules"]), len(knowledge["procedures"]))
            yield Reached(
                tasks=index + 1,
                calls=spent.calls,
                tokens=spent.tokens,
                actions=spent.actions,
                money=spent.money,
                rules=sum(rules for rules, _ in known.values()),
                procedures=sum(procedures for _, procedures in known.values()),
            )


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
        told = (typed(state.knowledge, task.model_copy(update=run.config.told(task))) for task in tasks)
        tasks = [task for task in told if task.type in state.knowledge.skills]
    cited = {id: evidence.cited for id, evidence in count(state.citations).items()}
    return coverage(state.knowledge.rules, goals_of(tasks), cited)


def coverage_lines(run: Run, group: str, state: KnowledgeState) -> Iterator[str]:
    """Yield what a user should know of the coverage; nothing where all is well, or the run left the needed part out."""
    left_out = set(run.config.without)
    if "rules" in left_out:
        return
    found, title = coverage_of(run, group, state), "" if group == EVERYTHING else f"{group}: "
    if found.missing and "types" not in left_out:
        yield f"{title}No success process seems to be for: {', '.join(found.missing)}."
    if found.never_cited and "cooperation" not in left_out:
        yield f"{title}Never cited: {', '.join(found.never_cited)}."
    if found.dangling:
        named = sorted({id for ids in found.dangling.values() for id in ids})
        yield f"{title}Named by rules, and not there any more: {', '.join(named)}."
