"""The sections of a run: what came out, what was learned, what it cost, what the figures count, what was asked.

Several runs have a section that holds them against each other.
"""

from collections.abc import Iterable, Iterator, Sequence

from planbook.compare import compare_all, comparison_parts, group_parts, group_rows
from planbook.console import ALL
from planbook.errors import BadArgument
from planbook.planner import Grid, Outcome
from planbook.report import blocks
from planbook.report.blocks import Block, Line, bold, dollars, duration, moment, share, within
from planbook.report.branches import branch_blocks
from planbook.report.charts import charts, with_options
from planbook.report.learned import learned, learned_blocks, learned_in_short
from planbook.report.trust import cost_blocks, for_each, settings, trust_blocks
from planbook.results import RunResults, matches_table, measure_lines, milestone_parts, results_table
from planbook.wording import counted, in_words

LONG = 300
"""Characters of a setting that is shown by itself."""


def sections(run: RunResults, anchor: str, number: int = 0, *, live: bool = False) -> list[Block]:
    """Return all sections of a run; of one that is ``live``, episodes to come count nowhere yet."""
    shown = run.so_far() if live else run
    summary = shown.summary()
    found = [
        blocks.section("", "first", [facts(shown, run)], static=True),
        blocks.section("Results", "results", results(shown, anchor), static=True),
        blocks.section("", "drawn", [{"block": "charts", "charts": charts([shown], number)}]),
    ]
    if not live and (branches := list(branch_blocks(run.run))):
        found.append(blocks.section("Branches", "branches", branches, static=True))
    if states := learned(run):
        found.append(blocks.section("What was learned", "learned", learned_blocks(run, anchor, states)))
    for name, figures in summary.methods.items():
        found.append(blocks.section(f"Figures of the method: {name}", name, part_blocks(figures.tell())))
    if summary.matches is not None:
        found.append(blocks.section("Goals and found types", "matches", part_blocks([matches_table(summary.matches)])))
    if summary.measures:
        lines = measure_lines(summary.measures)
        found.append(blocks.section("What the environment measures", "measures", part_blocks(lines)))
    if summary.milestones:
        reached = milestone_parts(summary.milestones, summary.unlock_score)
        found.append(blocks.section("Milestones", "milestones", part_blocks(reached)))
    found.append(blocks.section("Cost", "cost", cost_blocks(run, summary.solved)))
    found.append(blocks.section("What the figures count", "trust", trust_blocks(shown, anchor)))
    found.append(blocks.section("Settings", "asked-for", asked(run)))
    for each in found:
        each["id"] = f"{anchor}-{each['class']}"
    return found


def facts(shown: RunResults, run: RunResults) -> Block:
    """Return what came out, what was learned, and what it cost."""
    summary, cost = shown.summary(), run.cost
    waiting = sum(each.outcome is Outcome.NOT_RUN for each in shown.counted)
    under = f"{share(summary.solved, summary.tasks)} ({within(*summary.intervals[ALL])})" if summary.tasks else ""
    if waiting:
        under = f"Unfinished: {waiting:,} of {counted(summary.tasks, 'episode')} had not ended by {moment(run.last)}; "
        under += "they count as not solved."
    rows: list[tuple[str, Line, Line]] = [
        ("Result", [bold(f"{summary.solved:,} of {summary.tasks:,}"), " solved"], under)
    ]
    if states := learned(run):
        known, changes = learned_in_short(states)
        rows.append(("Learned", [bold(known)], changes))
    each = for_each(cost, summary.solved)
    spent = [counted(cost.actions, "action"), counted(cost.tokens, "token"), duration(run.seconds)]
    said = ", ".join(spent) + (f"; {each} for each solved task" if each else "")
    calls = [*([dollars(cost.money)] if cost.money else []), counted(cost.calls, "model call")]
    return blocks.facts([*rows, ("Cost", [bold(", ".join(calls))], said)])


def results(run: RunResults, anchor: str) -> Iterator[Block]:
    """Give the table by task type, and the episodes that were not solved by cause."""
    summary = run.summary()
    table = results_table(summary, "")
    rows = table.rows if len(table.rows) > 2 else table.rows[-1:]
    yield blocks.table([table.name, *table.columns], rows, "results", total=True)
    if summary.failures:
        yield blocks.heading("Not solved, by cause")
        yield blocks.bullets((_failed(run, anchor, cause) for cause in summary.failures), "causes")


def _failed(run: RunResults, anchor: str, cause: str) -> Line:
    failed = [each for each in run.counted if not each.solved and each.ending.cause == cause]
    pairs = [(each.entry.task.id, f"{anchor}-{each.index}") for each in failed]
    return [bold(in_words(cause)), f" {len(failed):,}: ", *blocks.links(pairs)]


def part_blocks(parts: Iterable[str | Grid]) -> Iterator[Block]:
    """Give sentences and small tables as blocks."""
    for part in parts:
        if isinstance(part, str):
            yield blocks.paragraph(part)
            continue
        if part.title:
            yield blocks.heading(part.title)
        total = len(part.rows) > 1 and part.rows[-1][0] == ALL
        yield blocks.table([part.name, *part.columns], part.rows, total=total)


def asked(run: RunResults) -> Iterator[Block]:
    """Give what the run was asked to do, with the options that follow from its environment."""
    rows = list(settings(with_options(run.run.config)))
    long = {name: value for name, value in rows if "\n" in value or len(value) > LONG}
    limits = [(name, value) for name, value in rows if name.startswith("limits.")]
    times = [("begun", run.run.begun), ("events", f"{moment(run.first)} to {moment(run.last)}")]
    yield blocks.pairs([*times, *(each for each in rows if each not in limits and each[0] not in long)])
    yield from (blocks.more(name, [blocks.pre(value)]) for name, value in long.items())
    yield blocks.more("Limits of one plan", [blocks.pairs(limits)])


def side_by_side(runs: Sequence[RunResults]) -> Iterator[Block]:
    """Give several runs beside each other, and the difference of each from the first over the tasks of both."""
    yield from part_blocks(group_parts(group_rows(runs)))
    yield blocks.heading("The same tasks, pair by pair")
    try:
        for number, compared in enumerate(compare_all(runs)):
            yield from part_blocks(comparison_parts(compared, chr(ord("B") + number)))
    except BadArgument as error:
        yield blocks.paragraph(f"There is no paired difference: {error}", "note")
    yield {"block": "charts", "charts": charts(runs)}
