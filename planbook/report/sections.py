"""The sections of a run: what came out, what was learned, what it cost, what the figures count, what was asked.

Several runs have a section that holds them against each other.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from typing import Any

from planbook.compare import RunComparison, SolvedDifference, verdict_lines
from planbook.config import Config, chosen_options
from planbook.envs import EnvsError
from planbook.outcomes import in_words
from planbook.planner import Outcome, Spent
from planbook.planner.strategies import Grid
from planbook.report import blocks
from planbook.report.blocks import Block, Line, bold, decimal, dollars, duration, marked, moment, share, within
from planbook.report.charts import charts
from planbook.report.costs import cost_blocks, for_each
from planbook.report.learned import learned, learned_blocks, learned_in_short
from planbook.report.trust import settings, trust_blocks
from planbook.results import (
    Measure,
    Result,
    RunResults,
    Summary,
    known_milestones,
    mean_actions,
    mean_errors,
    milestones,
    overall,
    plain,
    unlocked,
)
from planbook.wording import counted

RESULTS = ("task type", "solved", "tasks", "%", "95 % interval", "mean actions", "mean error steps", "model calls",
           "tokens, prompt", "tokens, completion")  # fmt: skip
LONG = 300
"""Characters of a setting that is shown by itself."""


def sections(run: RunResults, anchor: str, number: int = 0, *, live: bool = False) -> list[Block]:
    """Return all sections of a run; of one that is ``live``, episodes to come count nowhere yet."""
    summary = run.summary()
    found = [
        blocks.section("", "first", [facts(run, anchor, live=live)], static=True),
        blocks.section("Results", "results", results(run, anchor, live=live), static=True),
        blocks.section("", "drawn", [{"block": "charts", "charts": charts([run], number, live=live)}]),
    ]
    if states := learned(run):
        found.append(blocks.section("What was learned", "learned", learned_blocks(run, anchor, states)))
    for name, figures in summary.methods.items():
        found.append(blocks.section(f"Figures of the method: {name}", name, told(figures.tell())))
    if summary.measures:
        found.append(blocks.section("What the environment measures", "measures", measures(summary)))
    if summary.milestones:
        found.append(blocks.section("Milestones", "milestones", milestone_blocks(run, live=live)))
    found.append(blocks.section("Cost", "cost", cost_blocks(run, summary.solved)))
    found.append(blocks.section("What the figures count", "trust", trust_blocks(run, anchor)))
    found.append(blocks.section("Settings", "asked-for", asked(run)))
    for each in found:
        each["id"] = f"{anchor}-{each['class']}"
    return found


def _ended(run: RunResults) -> list[Result]:
    return [each for each in run.episodes.values() if not each.is_skipped and each.index in run.order]


def facts(run: RunResults, anchor: str, *, live: bool = False) -> Block:
    """Return what came out, what was learned or taken back, and what it cost."""
    summary, cost = run.summary(), run.cost
    so_far = len(_ended(run))
    tasks = so_far if live else summary.tasks
    waiting = summary.tasks - so_far
    came: list[Any] = [bold(f"{summary.solved:,} of {tasks:,}"), " solved"]
    under = (
        [f"{share(summary.solved, tasks)} ({within(summary.solved, tasks)})"] if tasks and (live or not waiting) else []
    )
    if waiting and not live:
        under.append(
            f"Unfinished: {waiting:,} of {counted(summary.tasks, 'episode')} had not ended by {moment(run.last)};"
        )
        under.append("they count as not solved.")
    rows: list[tuple[str, Line, Line]] = [("Came out", came, " ".join(under))]
    if states := learned(run):
        known, changes = learned_in_short(states)
        rows.append(("Learned", [bold(known)], changes))
    undone = sum(1 for _ in run.run.store.events("task", "rewind"))
    if undone:
        rows.append(("Taken back", [bold(counted(undone, "rewind"))], "of environment and plan, to an earlier moment"))
    money = [f"{dollars(cost.money)}, "] if cost.money else []
    spent = f"{counted(cost.tokens, 'token')}, {duration(run.seconds)}" + (
        f"; {for_each(cost, summary.solved)} for each solved task" if for_each(cost, summary.solved) else ""
    )
    rows.append(
        (
            "Cost",
            [bold("".join(money) + counted(cost.calls, "model call"))],
            f"{counted(cost.actions, 'action')}, {spent}",
        )
    )
    return blocks.facts(rows)


def results(run: RunResults, anchor: str, *, live: bool = False) -> Iterator[Block]:
    """Give the table by task type, and the episodes that were not solved by cause."""
    every = _ended(run) if live else [each for each in run.episodes.values() if not each.is_skipped]
    kinds = {kind: [each for each in every if each.type == kind] for kind in run.summary().by_type}
    rows = [_row(kind, own) for kind, own in (kinds if len(kinds) > 1 else {}).items()]
    yield blocks.table(RESULTS, [*rows, _row("all", every)], "results", total=True)
    if run.outside_cost.calls:
        calls, tokens = counted(run.outside_cost.calls, "model call"), counted(run.outside_cost.tokens, "token")
        said = f"Model calls and tokens are those within the episodes; outside them the run spent {calls} and {tokens}"
        yield blocks.paragraph(f"{said} more, {counted(run.cost.calls, 'model call')} in all.", "note")
    causes = [cause for cause in run.summary().failures if not (live and cause == Outcome.NOT_RUN)]
    if causes:
        yield blocks.heading("Not solved, by cause")
        yield blocks.bullets((_failed(run, anchor, cause) for cause in causes), "causes")


def _row(name: str, episodes: Sequence[Result]) -> list[str]:
    solved, tasks = sum(each.solved for each in episodes), len(episodes)
    waits = any(each.outcome is Outcome.NOT_RUN for each in episodes)
    cost = sum((each.cost for each in episodes), Spent())
    shares = [
        blocks.DASH if waits and not solved else share(solved, tasks),
        blocks.DASH if waits else within(solved, tasks),
    ]
    figures = [decimal(mean_actions(episodes)), decimal(mean_errors(episodes))]
    return [
        name,
        f"{solved:,}",
        f"{tasks:,}",
        *shares,
        *figures,
        f"{cost.calls:,}",
        f"{cost.prompt:,}",
        f"{cost.completion:,}",
    ]


def _failed(run: RunResults, anchor: str, cause: str) -> Line:
    failed = [each for each in run.episodes.values() if not each.ending.outcome.solved and each.ending.cause == cause]
    pairs = [(each.entry.task.id, f"{anchor}-{each.index}") for each in failed]
    return [bold(in_words(cause)), f" {len(failed):,}: ", *blocks.links(pairs)]


def told(parts: Iterable[str | Grid]) -> Iterator[Block]:
    """Give sentences and small tables as blocks."""
    for part in parts:
        if isinstance(part, str):
            yield blocks.paragraph(part)
        else:
            yield blocks.heading(part.title)
            yield blocks.table([part.name, *part.columns], part.rows)


def measures(summary: Summary) -> Iterator[Block]:
    """Give the environment's own figures by task type."""
    by_type = summary.measures
    names = list(dict.fromkeys(name for figures in by_type.values() for name in figures))
    rows = [
        [kind, *(part for name in names for part in _measure(figures.get(name))),
         f"{max(each.episodes for each in figures.values()):,}"]
        for kind, figures in by_type.items()
    ]  # fmt: skip
    head = ["task type", *(part for name in names for part in (name, "± sd")), "episodes"]
    yield blocks.table(head, rows, total=len(rows) > 1)
    yield blocks.paragraph("Means and standard deviations over the episodes that were played, solved or not.", "note")


def _measure(measure: Measure | None) -> tuple[str, str]:
    if measure is None:
        return blocks.DASH, blocks.DASH
    return plain(measure.mean), blocks.DASH if measure.sd is None else plain(measure.sd)


def milestone_blocks(run: RunResults, *, live: bool) -> Iterator[Block]:
    """Give what was reached on the way; of a run that is ``live``, in the episodes that have ended."""
    known, rows = known_milestones(run.run.config), _ended(run) if live else list(run.episodes.values())
    by_type = milestones([each for each in rows if not each.is_skipped], known)
    so_far = f" so far, over {counted(len(rows), 'episode')} played" if live else ""
    score = unlocked(by_type, known)
    if score is not None:
        yield blocks.paragraph(["Unlock score over all that can be reached: ", bold(f"{score:.2f} %"), f"{so_far}."])
    for kind, reached in by_type.items():
        yield blocks.heading(f"Reached on the way{' so far' if live else ''}: {kind}")
        counts = [[thing, f"{count:,} / {of:,}", share(count, of)] for thing, (count, of) in reached.items()]
        yield blocks.table(["milestone", "episodes", "%"], counts)


def asked(run: RunResults) -> Iterator[Block]:
    """Give what the run was asked to do, with the options that follow from its environment."""
    rows = list(settings(with_options(run.run.config)))
    short = [(name, value) for name, value in rows if not name.startswith("limits.") and not _is_long(value)]
    times = [("begun", run.run.begun), ("events", f"{moment(run.first)} to {moment(run.last)}")]
    yield blocks.pairs([*times, *short])
    for name, value in rows:
        if _is_long(value):
            yield blocks.more(name, [blocks.pre(value)])
    yield blocks.more("Limits of one plan", [blocks.pairs(each for each in rows if each[0].startswith("limits."))])


def _is_long(value: str) -> bool:
    return "\n" in value or len(value) > LONG


def with_options(config: Config) -> dict[str, Any]:
    """Return a configuration as JSON, with all options that the method plays with."""
    found = config.model_dump(mode="json")
    with suppress(EnvsError):
        found["planner_options"] = chosen_options(config, config.world.name)
    return found


def side_by_side(runs: Sequence[RunResults], compared: Sequence[RunComparison], why_not: str) -> Iterator[Block]:
    """Give several runs beside each other, and the difference of each from the first over the tasks of both."""
    summaries = [run.summary() for run in runs]
    types = sorted({kind for each in summaries for kind in each.by_type})
    shares = [{**each.by_type, "all": (each.solved, each.tasks)} for each in summaries]
    rows: list[list[Line]] = [[run.name, *(_cell(of.get(kind)) for kind in ("all", *(types if len(types) > 1 else ())))]
                              for run, of in zip(runs, shares, strict=True)]  # fmt: skip
    kinds = ["all", *(types if len(types) > 1 else ())]
    measured = list(dict.fromkeys(name for each in summaries for found in each.measures.values() for name in found))
    scored = any(each.unlock_score is not None for each in summaries)
    for row, run, summary in zip(rows, runs, summaries, strict=True):
        row += [decimal(summary.mean_actions), decimal(summary.mean_error_steps)]
        row += [str(overall(summary.measures, name) or blocks.DASH) for name in measured]
        row += [blocks.DASH if summary.unlock_score is None else f"{summary.unlock_score:.2f} %"] if scored else []
        row += [f"{run.cost.calls:,}", f"{run.cost.prompt:,} + {run.cost.completion:,}", dollars(run.cost.money)]
    head = ["run", *kinds, "mean actions", "mean error steps", *measured, *(["unlock score"] if scored else [])]
    yield blocks.table([*head, "model calls", "tokens, prompt + completion", "money"], rows, "by-run")
    yield blocks.heading("The same tasks, pair by pair")
    for number, each in enumerate(compared):
        yield from _compared(each, chr(ord("B") + number))
    if why_not:
        yield blocks.paragraph(why_not, "note")


def _cell(counts: tuple[int, int] | None) -> Line:
    if counts is None:
        return blocks.DASH
    return [f"{counts[0]:,} / {counts[1]:,} ", bold(share(*counts)), " ", marked("small", within(*counts))]


def _compared(compared: RunComparison, name: str) -> Iterator[Block]:
    first, second = compared.first, compared.second
    yield blocks.paragraph(["A: ", marked("code", first.run), f", {name}: ", marked("code", second.run)])
    yield from (blocks.paragraph(line, "verdict") for line in verdict_lines(compared, name))
    kinds = {**(compared.by_type if len(compared.by_type) > 1 else {}), "all": compared.overall}
    rows = [[kind, *_difference(each)] for kind, each in kinds.items()]
    head = ["task type", "pairs", "A", name, "gained", "lost", f"{name} - A, points", "95 % interval", "p"]
    yield blocks.table(head, rows, "paired", total=True)
    yield from (blocks.paragraph(f"Note: {warning}", "note") for warning in compared.warnings)


def _difference(found: SolvedDifference) -> list[str]:
    counts = [f"{each:,}" for each in (found.pairs, found.first, found.second, found.gained, found.lost)]
    points = [f"{100 * found.difference:+.1f}", f"{100 * found.low:+.1f} to {100 * found.high:+.1f}"]
    return [*counts, *points, f"{found.p_corrected:.3f}"]
