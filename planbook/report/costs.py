"""What a run cost, by who was asked, by model and by prompt."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

from planbook.planner import Spent
from planbook.report import blocks
from planbook.report.blocks import Block, dollars, duration
from planbook.report.charts import Chart, bars
from planbook.results import RunResults
from planbook.wording import counted

NOTHING = Spent()
HEAD = ("calls", "replayed", "tokens, prompt", "of them cached", "tokens, completion", "money", "time that models took")
DRAWN: Sequence[tuple[str, str, dict[str, Callable[[Spent], float]]]] = (
    ("Model calls, by role", "count", {"calls": lambda cost: cost.calls}),
    (
        "Tokens, by role",
        "count",
        {
            "prompt": lambda cost: cost.prompt - cost.cached,
            "prompt, cached": lambda cost: cost.cached,
            "completion": lambda cost: cost.completion,
        },
    ),
    ("Money, by role", "money", {"money": lambda cost: cost.money or 0.0}),
    ("Time that models took, by role", "seconds", {"time": lambda cost: cost.waited}),
)
"""Charts by role: title, format of the figures, and the parts that add up."""


class Row(NamedTuple):
    """``said`` is what there is to say beside the name."""

    name: str
    spent: Spent
    said: str = ""


class Costs(NamedTuple):
    """Rows of three tables, the costliest first."""

    roles: Sequence[Row]
    models: Sequence[Row]
    prompts: Sequence[Row]


def costs(run: RunResults) -> Costs:
    """Return what was spent inside the episodes and outside."""
    roles = _rows((speaker.role, spent) for speaker, spent in run.speakers.items())
    models = _rows((speaker.model, spent) for speaker, spent in run.speakers.items())
    return Costs(
        roles=[row._replace(said=_models_of(run, row.name)) for row in roles],
        models=[row._replace(said=_served(run, row.name)) for row in models],
        prompts=_rows(run.prompts.items()),
    )


def charts(roles: Sequence[Row]) -> list[Chart]:
    """Return the charts of what several roles cost; one role alone has its table."""
    found = []
    for title, form, parts in DRAWN:
        values = {name: [of(row.spent) for row in roles] for name, of in parts.items()}
        if len(roles) > 1 and any(map(any, values.values())):
            series = [(name, each) for name, each in values.items() if any(each)]
            found.append(bars(title, [row.name for row in roles], series, form=form))
    return found


def cost_blocks(run: RunResults, solved: int) -> Iterator[Block]:
    """Give the sentence, the charts and the tables of what a run cost."""
    found, spent = costs(run), run.cost
    yield blocks.paragraph(_sentence(run, solved))
    if not found.roles:
        return
    yield {"block": "charts", "charts": charts(found.roles)}
    yield _table("role", found.roles, Row("all", spent))
    tables = [_table("model", found.models), _table("prompt", found.prompts)]
    yield blocks.more("By model, and by prompt", tables)
    outside = run.outside_cost
    said = "Money is by the table of prices in US dollars; replies out of a recording cost nothing."
    if outside.calls:
        calls, tokens = counted(outside.calls, "call"), counted(outside.tokens, "token")
        said = f"Outside the episodes, in learning and formulating: {calls}, {tokens}. {said}"
    if spent.money is None:
        said += " A model that the table does not have leaves the price unknown: name a table with --prices."
    yield blocks.paragraph(said, "note")


def for_each(spent: Spent, solved: int) -> str:
    """Return the money for each solved task; nothing where nothing was paid, or nobody knows what."""
    return dollars(spent.money / solved) if spent.money and solved else ""


def _sentence(run: RunResults, solved: int) -> str:
    spent = run.cost
    said = f"{counted(spent.actions, 'action')} and {counted(spent.calls, 'model call')}"
    said += f", {spent.replayed:,} of them replayed from a recording" if spent.replayed else ""
    said += f" ({spent.reworded:,} to a prompt whose wording has changed since)" if spent.reworded else ""
    said += f"; {duration(run.seconds)} from the first event to the last, pauses included."
    if spent.calls:
        said += f" {counted(spent.tokens, 'token')}, {dollars(spent.money)}"
        if solved:
            said += f": {spent.calls / solved:.1f} calls and {spent.tokens / solved:,.0f} tokens for each solved task"
            said += f", {each}" if (each := for_each(spent, solved)) else ""
        said += "."
    return said + (f" {blocks.be(spent.shortened, 'prompt')} cut to fit the context." if spent.shortened else "")


def _table(by: str, rows: Sequence[Row], total: Row | None = None) -> Block:
    every = [*rows, total] if total else rows
    lines = [[row.name, *_cells(row.spent), row.said] for row in every]
    return blocks.table([f"by {by}", *HEAD, ""], lines, f"costs by-{by}", total=total is not None)


def _cells(spent: Spent) -> list[str]:
    counts = (spent.calls, spent.replayed, spent.prompt, spent.cached, spent.completion)
    found = [f"{each:,}" for each in counts]
    found[-1] += " (estimated)" if spent.estimated else ""
    return [*found, dollars(spent.money), duration(spent.waited)]


def _rows(spent: Iterable[tuple[str, Spent]]) -> list[Row]:
    found: dict[str, Spent] = {}
    for name, cost in spent:
        found[name] = found.get(name, NOTHING) + cost
    return sorted((Row(*each) for each in found.items()), key=lambda row: (-row.spent.tokens, row.name))


def _models_of(run: RunResults, role: str) -> str:
    return _listed(f"{each.model} ({each.sampling})" for each in run.speakers if each.role == role)


def _served(run: RunResults, model: str) -> str:
    served = (each.served for each in run.speakers if each.model == model and each.served not in ("", model))
    names = _listed(served)
    return f"served as {names}" if names else ""


def _listed(parts: Iterable[str]) -> str:
    return "; ".join(dict.fromkeys(parts))
