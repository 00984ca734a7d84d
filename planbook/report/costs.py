"""The cost of a run by role, model and prompt."""

from collections.abc import Iterable, Iterator, Mapping

from planbook.planner import Spent
from planbook.report import blocks
from planbook.report.blocks import Block, dollars, duration
from planbook.results import RunResults, paying_line
from planbook.wording import counted

HEAD = ("calls", "replayed", "tokens, prompt", "of them cached", "tokens, completion", "money", "time that models took")
Costs = Mapping[str, Spent]
"""By name, the costliest first."""


def costs(run: RunResults) -> Mapping[str, Costs]:
    """Return what was spent inside the episodes and outside: by role, by model and by prompt."""
    models = ((f"{who.model}{_served(who.model, who.served)}", spent) for who, spent in run.speakers.items())
    return {
        "role": _added((who.role, spent) for who, spent in run.speakers.items()),
        "model": _added(models),
        "prompt": _added(run.prompts.items()),
    }


def _served(model: str, served: str) -> str:
    return "" if served in ("", model) else f", served as {served}"


def _added(spent: Iterable[tuple[str, Spent]]) -> Costs:
    found: dict[str, Spent] = {}
    for name, cost in spent:
        found[name] = found.get(name, Spent()) + cost
    return dict(sorted(found.items(), key=lambda each: (-each[1].tokens, each[0])))


def cost_blocks(run: RunResults, solved: int) -> Iterator[Block]:
    """Give the sentence and the tables of what a run cost."""
    found, spent, outside = costs(run), run.cost, run.outside_cost
    yield blocks.paragraph(_sentence(run, solved))
    yield from map(blocks.paragraph, paying_line(run.paying()))
    if not run.speakers:
        return
    yield _table("role", {**found["role"], "all": spent})
    yield blocks.more("By model, and by prompt", [_table(by, found[by]) for by in ("model", "prompt")])
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
        said += "."
    return said + (f" {blocks.be(spent.shortened, 'prompt')} cut to fit the context." if spent.shortened else "")


def _table(by: str, rows: Costs) -> Block:
    lines = [[name, *_cells(spent)] for name, spent in rows.items()]
    return blocks.table([f"by {by}", *HEAD], lines, f"costs by-{by}", total="all" in rows)


def _cells(spent: Spent) -> list[str]:
    counts = (spent.calls, spent.replayed, spent.prompt, spent.cached, spent.completion)
    found = [f"{each:,}" for each in counts]
    found[-1] += " (estimated)" if spent.estimated else ""
    return [*found, dollars(spent.money), duration(spent.waited)]
