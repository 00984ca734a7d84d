"""The facts that the figures rest on: costs, what is counted, what was claimed, and what the run was made of."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from planbook.config import by_dotted_name
from planbook.planner import Outcome, Spent
from planbook.report import blocks
from planbook.report.blocks import Block, Line, dollars, duration, link, links, marked, moment
from planbook.results import UNSAFE, RunResults, claim_lines, failure_lines, paying_line
from planbook.runs import Imported, RunFile
from planbook.wording import counted, in_words, listed

MEANINGS: Mapping[Outcome, str] = {
    Outcome.DIRECT_SUCCESS: "solved, and no cell ended in an error",
    Outcome.INDIRECT_SUCCESS: "solved, after at least one error",
    Outcome.FAILURE: "played to the end of what its method does, and not solved",
    Outcome.OUT_OF_BUDGET: "not solved before its budget of actions or replies ran out",
    Outcome.BROKEN: "ended through a fault that is not the agent's: ours, the environment's or the model server's",
    Outcome.NOT_RUN: "not played, or not to its end: the run was stopped, or its budget was used up",
}
"""The outcomes, in words."""
MOST = 200
"""False claims that are listed, and seeds of tasks."""


def trust_blocks(run: RunResults, anchor: str) -> Iterator[Block]:
    """Give what is counted, what was claimed, and what the run was made of."""
    summary = run.summary()
    counts = Counter(each.outcome for each in run.counted)
    rows: list[Sequence[Line]] = [
        [[marked("span", in_words(each.value), f"outcome {each.value}")], f"{counts[each]:,}", meaning]
        for each, meaning in MEANINGS.items()
    ]
    yield blocks.table(
        ["outcome", "episodes", "meaning"], [*rows, ["all", f"{summary.tasks:,}", ""]], "meanings", total=True
    )
    yield from map(blocks.paragraph, failure_lines(summary))
    yield from _tracebacks(run, anchor)
    if run.run.unsafe_no_sandbox:
        yield blocks.paragraph(UNSAFE, "unsafe")
    yield blocks.heading("Claims against the environment's verdict")
    yield from _claims(run, anchor)
    yield blocks.heading("What the run was made of")
    yield from _made_of(run)


def _tracebacks(run: RunResults, anchor: str) -> Iterator[Block]:
    """Give the tracebacks of broken episodes, each under a link to its episode."""
    for row in [each for each in run.counted if each.outcome is Outcome.BROKEN][:MOST]:
        first, _, trace = (row.ending.message if row.ending else "").partition("\n")
        if trace:
            line = [link(row.entry.task.id, f"{anchor}-{row.index}"), f": {first}"]
            yield blocks.more(line, [blocks.pre(trace)])


def _claims(run: RunResults, anchor: str) -> Iterator[Block]:
    """Hold what was claimed of whole tasks against the environment's verdict."""
    found = run.summary().claims
    if found is None:
        yield blocks.paragraph("Nothing was claimed of any whole task.")
        return
    yield from map(blocks.paragraph, claim_lines(found))
    false = [(row.entry.task.id, f"{anchor}-{row.index}") for row in run.counted if row.claim.is_false]
    if false:
        yield blocks.paragraph(["Claims that are false: ", *links(false, MOST)], "false-claims")


def _made_of(run: RunResults) -> Iterator[Block]:
    """Give all of run.json but the settings, and what was noted whenever the run was resumed."""
    file = RunFile.read(run.run.folder)
    begun = "Imported" if file.imported else "Begun"
    yield blocks.paragraph(f"{begun} by planbook {file.versions.get('planbook', 'of an unknown version')}.")
    if file.imported:
        yield from _imported(file.imported)
    for event in run.outside:
        body: Any = event.body
        if event.kind == "sitting" and body.get("changed"):
            changed = "; ".join(body["changed"])
            yield blocks.paragraph(f"Resumed on {moment(event.at)}, when this was not as before: {changed}.", "changed")
    seeds = sorted({each.entry.task.seed for each in run.counted if each.entry.task.seed is not None})
    facts = file.model_dump(mode="json", exclude={"config", "imported"})
    more = {"environment": run.versions, "seeds of tasks": listed(map(str, seeds), MOST)}
    yield blocks.more("Versions, checksums and seeds", [blocks.pairs(settings(facts | more))])


def _imported(imported: Imported) -> Iterator[Block]:
    files = counted(len(imported.files), "file")
    yield blocks.paragraph(f"These episodes were not played here. They come from {files}:")
    yield blocks.bullets(
        f"{file.name}, {counted(file.episodes, 'episode')}, SHA-256 {file.sha256}" for file in imported.files
    )
    for origin in imported.origins:
        said = f"The run that {blocks.be(origin.episodes, 'episode')} exported from, as the file has it"
        yield blocks.more(said, [blocks.pairs(settings(origin.facts))])


def settings(value: Any) -> Iterator[tuple[str, str]]:
    """Give settings by dotted name, without those that were left empty."""
    return ((name, said) for name, said in by_dotted_name(value) if said)


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
    yield _cost_table("role", {**found["role"], "all": spent})
    yield blocks.more("By model, and by prompt", [_cost_table(by, found[by]) for by in ("model", "prompt")])
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


def _cost_table(by: str, rows: Costs) -> Block:
    lines = [[name, *_cells(spent)] for name, spent in rows.items()]
    return blocks.table([f"by {by}", *HEAD], lines, f"costs by-{by}", total="all" in rows)


def _cells(spent: Spent) -> list[str]:
    counts = (spent.calls, spent.replayed, spent.prompt, spent.cached, spent.completion)
    found = [f"{each:,}" for each in counts]
    found[-1] += " (estimated)" if spent.estimated else ""
    return [*found, dollars(spent.money), duration(spent.waited)]
