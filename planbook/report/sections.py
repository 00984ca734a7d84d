"""Makes the sections of a page about a run, such as its results, what it has learned, its costs and its settings.

A page about several runs also has a section that compares them.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import compress
from pathlib import Path
from typing import Any

from planbook.compare import RunComparison, compare, with_corrections
from planbook.compare.groups import group_parts, group_rows
from planbook.compare.shown import comparison_parts, run_letter
from planbook.config import flatten_settings
from planbook.console import ALL
from planbook.errors import BadArgument, BadRun
from planbook.planner import Grid, Outcome, Spending
from planbook.report import blocks
from planbook.report.blocks import Block, Line, bold, link, links
from planbook.report.charts import charts, with_options
from planbook.report.learned import count_learned, final_states, learned_blocks
from planbook.reruns import actions_taken
from planbook.results import RunResults
from planbook.results.learning_cost import payoff_line
from planbook.results.summary import UNSAFE, failure_lines, figure_parts, results_table, spending_lines
from planbook.runs import Fork, Run, RunFile, branches_of, recorded_endings
from planbook.wording import (
    ESTIMATED,
    counted,
    format_clock,
    format_money,
    in_words,
    interval,
    outcome_of,
    score_of,
    utc_time,
)


def sections(run: RunResults, anchor: str, *, live: bool = False) -> list[Block]:
    """Return all sections about a run. If the run is ``live``, only episodes that have ended count.

    The ids of all HTML elements about the run begin with ``anchor``.
    """
    ended = run.so_far() if live else run
    summary = ended.summary()
    parts = [
        blocks.section("", "first", [facts(ended, run)]),
        blocks.section("Results", "results", results(ended, anchor)),
        blocks.section("", "drawn", [{"block": "charts", "charts": charts([ended])}]),
    ]
    if not live and (branches := list(branch_blocks(run.run))):
        parts.append(blocks.section("Branches", "branches", branches))
    if states := final_states(run):
        parts.append(blocks.section("What was learned", "learned", learned_blocks(run, states)))
    if figures := list(part_blocks(figure_parts(summary))):
        parts.append(blocks.section("Figures", "figures", figures))
    if cost := list(cost_blocks(run)):
        parts.append(blocks.section("Cost", "cost", cost))
    parts.append(blocks.section("What the figures count", "trust", trust_blocks(ended, anchor)))
    parts.append(blocks.section("Settings", "asked-for", settings_blocks(run)))
    for section in parts:
        section["id"] = f"{anchor}-{section['class']}"
    return parts


def facts(ended: RunResults, run: RunResults) -> Block:
    """Return the key numbers of a run: the result, what was learned, and the cost.

    The result is computed from ``ended``, which is the same run with only those episodes that count.
    """
    summary, cost = ended.summary(), run.cost
    pending = sum(episode.outcome is Outcome.NOT_RUN for episode in ended.counted)
    note = f"{summary.solved / summary.tasks:.1%}" if summary.tasks else ""
    if bounds := summary.intervals[ALL]:
        note = f"{note} ({interval(*bounds)})"
    if pending:
        episodes = counted(summary.tasks, "episode")
        note = f"Unfinished: {pending:,} of {episodes} had not ended by {utc_time(run.last)}; they count as not solved."
    rows: list[tuple[str, Line, Line]] = [
        ("Result", [bold(f"{summary.solved:,} of {summary.tasks:,}"), " solved"], note)
    ]
    if states := final_states(run):
        counts, changes = count_learned(states)
        rows.append(("Learned", [bold(counts)], changes))
    price = money_per_solved(cost, summary.solved)
    tokens = counted(cost.tokens, "token") + (ESTIMATED if cost.estimated else "")
    spent = [
        counted(cost.actions, "action"),
        tokens,
        *([f"{format_clock(run.seconds)} elapsed"] if run.seconds else []),
    ]
    detail = ", ".join(spent) + (f"; {price} for each solved task" if price else "")
    calls = [*([format_money(cost.money)] if cost.money else []), counted(cost.calls, "model call")]
    return blocks.facts([*rows, ("Cost", [bold(", ".join(calls))], detail)])


def results(run: RunResults, anchor: str) -> Iterator[Block]:
    """Yield a table of the results by task type, and lists of the unsolved episodes by cause."""
    summary = run.summary()
    table = results_table(summary, "")
    rows = table.rows if len(table.rows) > 2 else table.rows[-1:]
    yield blocks.table([table.name, *table.columns], rows, "results", total=True)
    if summary.failures:
        yield blocks.heading("Not solved, by cause")
        yield blocks.bullets((_failed(run, anchor, cause) for cause in summary.failures), "causes")


def _failed(run: RunResults, anchor: str, cause: str) -> Line:
    failed = [episode for episode in run.counted if not episode.solved and episode.ending.cause == cause]
    pairs = [(episode.name, f"{anchor}-{episode.index}") for episode in failed]
    return [bold(in_words(cause)), f" {len(failed):,}: ", *blocks.links(pairs)]


def part_blocks(parts: Iterable[str | Grid]) -> Iterator[Block]:
    """Yield a block for each of these sentences and tables, which commands also print in the terminal."""
    for part in parts:
        if isinstance(part, str):
            yield blocks.paragraph(part)
            continue
        if part.title:
            yield blocks.heading(part.title)
        total = len(part.rows) > 1 and part.rows[-1][0] == ALL
        yield blocks.table([part.name, *part.columns], part.rows, total=total)


# Branches

ACTION_CHARS = 200
"""Maximum number of characters that are shown of an action together with its observation."""


def branch_blocks(run: Run) -> Iterator[Block]:
    """Yield a table for each episode that was forked. It shows the episode's actions next to those of its branches.

    A branch is a run of one episode, made by `planbook fork`. If this run is a branch itself, yield one table, which
    shows it next to the original episode.
    """
    with ExitStack() as stack:
        original, branches = run, [run]
        try:
            if run.forked:
                original = stack.enter_context(closing(Run.open(Path(run.forked.run))))
            else:
                folders = branches_of(run.folder)
                branches = [stack.enter_context(closing(Run.open(folder))) for folder in folders]
        except BadRun as error:
            yield blocks.paragraph(f"A branch cannot be shown: {error}", "note")
            return
        forked = [(branch.forked, branch) for branch in branches if branch.forked]
        for episode in sorted({fork.episode for fork, _ in forked}):
            yield from _branches_of_episode(original, episode, [pair for pair in forked if pair[0].episode == episode])


def _branches_of_episode(original: Run, episode: int, branches: Sequence[tuple[Fork, Run]]) -> Iterator[Block]:
    entry = original.entries()[episode]
    columns = [_actions(original, episode), *(_actions(branch, 0) for _, branch in branches)]
    names = [f"at {fork.at}: {fork.change or 'once more'}" for fork, _ in branches]
    same = min(fork.at for fork, _ in branches)
    while same and len({tuple(column[:same]) for column in columns}) > 1:
        same -= 1
    yield blocks.heading(f"{entry.task.id} (episode {episode}), and {counted(len(branches), 'branch', 'branches')}")
    rows = [[f"1 to {same}", *(["the same"] * len(columns))]] if same else []
    for number in range(same, max(map(len, columns))):
        rows.append([str(number + 1), *(column[number] if number < len(column) else "" for column in columns)])
    rows.append(["ended", _ending(original, episode), *(_ending(branch, 0) for _, branch in branches)])
    yield blocks.table(["action", "as it was", *names], rows, "branches")


def _actions(run: Run, episode: int) -> list[str]:
    """Return the actions of an episode, each with the beginning of its observation. Return [] if it has not ended."""
    if episode not in recorded_endings(run):
        return []
    return [line[:ACTION_CHARS] for line in actions_taken(run, run.entries()[episode])]


def _ending(run: Run, episode: int) -> str:
    ending = recorded_endings(run).get(episode)
    if ending is None:
        return "not ended"
    return f"{outcome_of(ending)} after {counted(ending.actions, 'action')}{score_of(ending)}"


# Costs

COST_COLUMNS = (
    "calls",
    "replayed",
    "tokens, prompt",
    "cached prompt tokens",
    "tokens, completion",
    "money",
    "model time",
)


def cost_blocks(run: RunResults) -> Iterator[Block]:
    """Yield sentences about the costs of a run, and a table if it has asked a model.

    The costs include calls outside of episodes. Columns that are zero are left out.
    """
    spent, outside = run.cost, run.outside_cost
    yield from map(blocks.paragraph, (*spending_lines(run.summary()), *payoff_line(run.payoff())))
    if not run.costs["role"]:
        return
    used = [cell != zero for cell, zero in zip(_cells(spent), _cells(Spending()), strict=True)]
    rows = [
        (f"{kind} {name}", *compress(_cells(cost), used))
        for kind, costs in run.costs.items()
        for name, cost in sorted(costs.items(), key=lambda item: item[1].tokens, reverse=True)
    ]
    columns = [*compress(COST_COLUMNS, used)]
    yield from part_blocks([Grid("", "", columns, [*rows, (ALL, *compress(_cells(spent), used))])])
    if outside.calls:
        calls, tokens = counted(outside.calls, "call"), counted(outside.tokens, "token")
        yield blocks.paragraph(f"Outside the episodes, in learning and formulating: {calls}, {tokens}.", "note")
    if spent.money != 0:
        yield blocks.paragraph("Money is in US dollars, from the price table; recorded replies cost nothing.", "note")
    if spent.money is None:
        note = "The price is unknown if a model is missing from the table: use --prices to give a table that has it."
        yield blocks.paragraph(note, "note")


def money_per_solved(spent: Spending, solved: int) -> str:
    """Return the money spent per solved task, or "" if it is zero or unknown."""
    return format_money(spent.money / solved) if spent.money and solved else ""


def _cells(spent: Spending) -> list[str]:
    estimated = ESTIMATED if spent.estimated else ""
    tokens = (f"{spent.prompt:,}{estimated}", f"{spent.cached:,}", f"{spent.completion:,}{estimated}")
    return [f"{spent.calls:,}", f"{spent.replayed:,}", *tokens, format_money(spent.money), format_clock(spent.waited)]


# What the figures count

MAX_LISTED = 200
"""Maximum number of false claims and tracebacks that are listed."""


def trust_blocks(run: RunResults, anchor: str) -> Iterator[Block]:
    """Yield the counts of outcomes, the tracebacks, the false claims, and the inputs of the run.

    A claim is an agent's statement that its whole task is solved, or that it is not.
    """
    summary = run.summary()
    counts = Counter(episode.outcome for episode in run.counted)
    outcomes = (f"{in_words(outcome.value)} {counts[outcome]:,}" for outcome in Outcome if counts[outcome])
    yield blocks.paragraph(f"Outcomes: {', '.join(outcomes) or 'none yet'}.")
    yield from map(
        blocks.paragraph, failure_lines(summary.model_copy(update={"failures": {}}))
    )  # the section of results lists these
    yield from _tracebacks(run, anchor)
    if run.run.file.unsafe_no_sandbox:
        yield blocks.paragraph(UNSAFE, "unsafe")
    if false_claims := [(row.name, f"{anchor}-{row.index}") for row in run.counted if row.claim.is_false]:
        yield blocks.paragraph(["False claims: ", *links(false_claims, MAX_LISTED)], "false-claims")
    yield blocks.heading("Inputs of the run")
    yield from _inputs(run)


def _tracebacks(run: RunResults, anchor: str) -> Iterator[Block]:
    """Yield the tracebacks of broken episodes, each with a link to its episode."""
    for row in [episode for episode in run.counted if episode.outcome is Outcome.BROKEN][:MAX_LISTED]:
        first, _, trace = (row.ending.message if row.ending else "").partition("\n")
        if trace:
            line = [link(row.name, f"{anchor}-{row.index}"), f": {first}"]
            yield blocks.details(line, [blocks.pre(trace)])


def _inputs(run: RunResults) -> Iterator[Block]:
    """Yield which inputs had changed at each resume, and the contents of run.json except the settings."""
    file = RunFile.read(run.run.folder)
    origin = f"by planbook {file.versions.get('planbook', 'of an unknown version')}"
    note = "; these episodes were not played here." if file.imported else "."
    yield blocks.paragraph(f"{'Imported' if file.imported else 'Begun'} {origin}{note}")
    for event in run.outside:
        body: Any = event.body
        if event.kind == "sitting" and "changed" in body:
            changed = f"with changes: {'; '.join(body['changed'])}" if body["changed"] else "with the original inputs"
            yield blocks.paragraph(f"Resumed on {utc_time(event.at)}, {changed}.", "changed")
    recorded = file.model_dump(mode="json", exclude={"config"})
    pairs = blocks.pairs(settings(recorded | {"environment": run.versions}))
    yield blocks.details("Versions and checksums", [pairs])


# Settings


def settings_blocks(run: RunResults) -> Iterator[Block]:
    """Yield the settings of a run, including all options of its planning method."""
    times = [("begun", run.run.begun), ("events", f"{utc_time(run.first)} to {utc_time(run.last)}")]
    yield blocks.pairs([*times, *settings(with_options(run))])


def settings(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the dotted name and the value of each setting that is not empty."""
    return ((name, text) for name, text in flatten_settings(value) if text)


# Several runs


def comparison_blocks(runs: Sequence[RunResults]) -> Iterator[Block]:
    """Yield a table of several runs, and a comparison of each run with the first one, over the tasks that both played.

    Each run has a letter: A for the first on the page, B for the second, and so on. If a run cannot be compared with
    the first one, a sentence gives the reason.
    """
    yield from part_blocks(group_parts(group_rows(runs)))
    yield blocks.heading("The same tasks, pair by pair")
    first, *others = runs
    compared = dict[str, RunComparison]()
    for number, other in enumerate(others, 1):
        try:
            compared[run_letter(number)] = compare(first, other)
        except BadArgument as error:
            yield blocks.paragraph(f"{run_letter(0)} and {run_letter(number)} are not compared: {error}", "note")
    corrected = zip(compared, with_corrections([*compared.values()]), strict=True)
    yield from part_blocks(comparison_parts(dict(corrected), run_letter(0)))
    yield {"block": "charts", "charts": charts(runs)}
