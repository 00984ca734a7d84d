"""The sections that help readers to judge the figures of a run: costs, outcomes, false claims, and inputs.

A claim is a statement of the agent about its whole task: that it is solved, or that it is not.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from planbook.config import flatten_settings
from planbook.planner import Outcome, Spending
from planbook.report import blocks
from planbook.report.blocks import Block, Line, format_money, link, links, marked, utc_time
from planbook.results.rendering import UNSAFE, failure_lines, payoff_line, spending_lines
from planbook.results.table import RunResults
from planbook.runs import RunFile
from planbook.wording import ESTIMATED, counted, format_clock, in_words, listed

MEANINGS: Mapping[Outcome, str] = {
    Outcome.DIRECT_SUCCESS: "solved, and no cell ended in an error",
    Outcome.INDIRECT_SUCCESS: "solved, after at least one error",
    Outcome.FAILURE: "not solved when it ended",
    Outcome.OUT_OF_BUDGET: "not solved before its budget of actions ran out",
    Outcome.BROKEN: "ended by a fault of planbook or of the environment, not of the agent",
    Outcome.NOT_RUN: "not played, or not to its end: the run was stopped, or its budget was used up",
}
"""Maps each outcome to the explanation that the page gives of it."""
MAX_LISTED = 200
"""Maximum number of false claims, tracebacks and task seeds that are listed."""


def trust_blocks(run: RunResults, anchor: str) -> Iterator[Block]:
    """Yield the counts of outcomes, the false claims, and the inputs of the run."""
    summary = run.summary()
    counts = Counter(episode.outcome for episode in run.counted)
    rows: list[Sequence[Line]] = [
        [[marked("span", in_words(outcome.value), f"outcome {outcome.value}")], f"{counts[outcome]:,}", meaning]
        for outcome, meaning in MEANINGS.items()
        if counts[outcome]
    ]
    yield blocks.table(["outcome", "episodes", "meaning"], rows, "meanings")
    yield from map(blocks.paragraph, failure_lines(summary.model_copy(update={"failures": {}})))  # listed above
    yield from _tracebacks(run, anchor)
    if run.run.file.unsafe_no_sandbox:
        yield blocks.paragraph(UNSAFE, "unsafe")
    if false_claims := [(row.entry.task.id, f"{anchor}-{row.index}") for row in run.counted if row.claim.is_false]:
        yield blocks.paragraph(["Claims that are false: ", *links(false_claims, MAX_LISTED)], "false-claims")
    yield blocks.heading("Inputs of the run")
    yield from _inputs(run)


def _tracebacks(run: RunResults, anchor: str) -> Iterator[Block]:
    """Yield the tracebacks of broken episodes, each with a link to its episode."""
    for row in [episode for episode in run.counted if episode.outcome is Outcome.BROKEN][:MAX_LISTED]:
        first, _, trace = (row.ending.message if row.ending else "").partition("\n")
        if trace:
            line = [link(row.entry.task.id, f"{anchor}-{row.index}"), f": {first}"]
            yield blocks.details(line, [blocks.pre(trace)])


def _inputs(run: RunResults) -> Iterator[Block]:
    """Yield the contents of run.json without the settings, and how inputs had changed whenever the run was resumed."""
    file = RunFile.read(run.run.folder)
    origin = f"by planbook {file.versions.get('planbook', 'of an unknown version')}"
    note = ": these episodes were not played here." if file.imported else "."
    yield blocks.paragraph(f"{'Imported' if file.imported else 'Begun'} {origin}{note}")
    for event in run.outside:
        body: Any = event.body
        if event.kind == "sitting" and "changed" in body:
            changed = f"with changes: {'; '.join(body['changed'])}" if body["changed"] else "with the original inputs"
            yield blocks.paragraph(f"Resumed on {utc_time(event.at)}, {changed}.", "changed")
    seeds = sorted({episode.entry.task.seed for episode in run.counted if episode.entry.task.seed is not None})
    facts = file.model_dump(mode="json", exclude={"config", "imported"})
    if file.imported:
        facts["files"] = {
            f"file {number}": f"{source.name}, {counted(source.episodes, 'episode')}, SHA-256 {source.sha256}"
            for number, source in enumerate(file.imported.files, 1)
        }
        facts["played by"] = {f"run {number}": origin.facts for number, origin in enumerate(file.imported.origins, 1)}
    more = {"environment": run.versions, "seeds of tasks": listed(map(str, seeds), MAX_LISTED)}
    yield blocks.details("Versions, checksums and seeds", [blocks.pairs(settings(facts | more))])


def settings(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the dotted name and the value of each setting that is not empty."""
    return ((name, text) for name, text in flatten_settings(value) if text)


COST_COLUMNS = (
    "calls",
    "replayed",
    "tokens, prompt",
    "cached prompt tokens",
    "tokens, completion",
    "money",
    "model time",
)
ZEROS = {"0", "$0.00", "0:00"}
Costs = Mapping[str, Spending]
"""Maps names, such as those of roles, to their costs, from the highest to the lowest."""


def costs(run: RunResults) -> Mapping[str, Costs]:
    """Map "role", "model" and "prompt" to the costs of each role, model and prompt, in and outside of episodes."""
    return {
        kind: dict(sorted(rows.items(), key=lambda row: (-row[1].tokens, row[0]))) for kind, rows in run.costs.items()
    }


def cost_blocks(run: RunResults) -> Iterator[Block]:
    """Yield sentences and tables of the costs of a run, if it has any."""
    by_kind, spent, outside = costs(run), run.cost, run.outside_cost
    yield from map(blocks.paragraph, (*spending_lines(run.summary()), *payoff_line(run.payoff())))
    if not by_kind["role"]:
        return
    total = {"all": spent} if len(by_kind["role"]) > 1 else {}
    yield _cost_table("role", {**by_kind["role"], **total})
    yield blocks.details("By model, and by prompt", [_cost_table(kind, by_kind[kind]) for kind in ("model", "prompt")])
    if outside.calls:
        calls, tokens = counted(outside.calls, "call"), counted(outside.tokens, "token")
        yield blocks.paragraph(f"Outside the episodes, in learning and formulating: {calls}, {tokens}.", "note")
    if spent.money != 0:
        yield blocks.paragraph("Money is in US dollars, from the price table; recorded replies cost nothing.", "note")
    if spent.money is None:
        note = "The price is unknown if a model is missing from the table: give a table that has it with --prices."
        yield blocks.paragraph(note, "note")


def money_per_solved(spent: Spending, solved: int) -> str:
    """Return the money spent per solved task, or "" if it is zero or unknown."""
    return format_money(spent.money / solved) if spent.money and solved else ""


def _cost_table(kind: str, rows: Costs) -> Block:
    """Return a table of costs, without columns in which every figure is zero."""
    columns = zip(COST_COLUMNS, *map(_cells, rows.values()), strict=True)
    head, *lines = zip([f"by {kind}", *rows], *(column for column in columns if {*column[1:]} - ZEROS), strict=True)
    return blocks.table(head, lines, f"costs by-{kind}", total="all" in rows)


def _cells(spent: Spending) -> list[str]:
    estimated = ESTIMATED if spent.estimated else ""
    tokens = (f"{spent.prompt:,}{estimated}", f"{spent.cached:,}", f"{spent.completion:,}{estimated}")
    return [f"{spent.calls:,}", f"{spent.replayed:,}", *tokens, format_money(spent.money), format_clock(spent.waited)]
