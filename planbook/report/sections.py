"""Makes the sections of a page about a run, such as its results, what it has learned, its costs and its settings.

A page about several runs also has a section that compares them. ``elements`` defines nodes.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, closing
from itertools import islice, takewhile, zip_longest
from pathlib import Path
from typing import Any

from planbook.compare import RunComparison, compare, with_corrections
from planbook.compare.groups import group_parts, group_rows
from planbook.compare.rendering import comparison_parts, run_letter
from planbook.console import ALL
from planbook.errors import BadArgument, BadRun
from planbook.knowledge import KnowledgeState, find_learned_state
from planbook.options import flatten_settings
from planbook.planner import INVOCATION, Ending, Outcome, Spending
from planbook.report.charts import charts, with_options
from planbook.report.elements import Node, definitions, details, links, nodes_of, table
from planbook.report.learned import count_learned, learned
from planbook.reruns import actions_taken
from planbook.results import RunResults
from planbook.results.learning_cost import payoff_line
from planbook.results.rows import EpisodeResult
from planbook.results.summary import UNSAFE, failure_lines, figure_parts, results_table, spending_lines
from planbook.runs import Fork, Run, RunFile, branches_of, recorded_endings
from planbook.wording import (
    ESTIMATED,
    counted,
    format_clock,
    format_money,
    in_words,
    interval,
    outcome_text,
    score_text,
    utc_time,
)

Section = dict[str, Any]


def sections(run: RunResults, anchor: str, *, live: bool = False) -> list[Section]:
    """Return all sections about a run that have content. If the run is ``live``, only episodes that have ended count.

    The ids of all HTML elements about the run begin with ``anchor``.
    """
    counted_run = run.so_far() if live else run
    state = find_learned_state(run.run) if run.run.config.learning is not None else None
    contents: list[tuple[str, str, Iterable[Node]]] = [
        ("overview", "", [key_facts(counted_run, run, state)]),
        ("results", "Results", results(counted_run, anchor)),
        ("plots", "", chart_nodes([counted_run])),
        ("branches", "Branches", () if live else branches(run.run)),
        ("learned", "What was learned", learned(run, state)),
        ("figures", "Figures", nodes_of(figure_parts(counted_run.summary()))),
        ("cost", "Cost", costs(run)),
        ("counts", "What the figures count", outcome_counts(counted_run, anchor)),
        ("configuration", "Settings", all_settings(run)),
    ]
    named = ((name, title, list(content)) for name, title, content in contents)
    return [
        {"id": f"{anchor}-{name}", "class": name, "title": title, "nodes": nodes}
        for name, title, nodes in named
        if nodes
    ]


def key_facts(counted_run: RunResults, run: RunResults, state: KnowledgeState | None) -> Node:
    """Return the key facts of a run: the result, what was learned, and the cost.

    ``counted_run`` is the run without the episodes that do not count yet. The result comes from it.
    """
    rows = [("Result", *_result(counted_run, run.last_time))]
    if state:
        rows.append(("Learned", *count_learned(state)))
    rows.append(("Cost", *_cost(run, counted_run.summary().solved)))
    return [
        "dl.key-facts",
        *(["div", ["dt", name], ["dd", ["b", fact], ["small", remark]]] for name, fact, remark in rows),
    ]


def _result(run: RunResults, last_time: float | None) -> tuple[str, str]:
    """Return the number of solved tasks, and a remark about it."""
    summary = run.summary()
    fact = f"{summary.solved:,} of {summary.tasks:,} solved"
    if pending := sum(episode.outcome is Outcome.NOT_RUN for episode in run.counted_rows):
        episodes = counted(summary.tasks, "episode")
        return (
            fact,
            f"Unfinished: {pending:,} of {episodes} had not ended by {utc_time(last_time)}; they count as not solved.",
        )
    share = f"{summary.solved / summary.tasks:.1%}" if summary.tasks else ""
    bounds = summary.intervals[ALL]
    return fact, f"{share} ({interval(*bounds)})" if bounds else share


def _cost(run: RunResults, solved: int) -> tuple[str, str]:
    """Return the money and calls that were spent, and a remark about the rest."""
    cost, outside = run.cost, run.outside_cost.actions
    calls = counted(cost.calls, "model call")
    outside_note = f" ({outside:,} outside the episodes)" if outside else ""
    tokens = f"{counted(cost.tokens, 'token')}{ESTIMATED * bool(cost.estimated)}"
    remark = f"{counted(cost.actions, 'action')}{outside_note}, {tokens}"
    if run.seconds:
        remark += f", {format_clock(run.seconds)} elapsed"
    if price := money_per_solved(cost, solved):
        remark += f"; {price} for each solved task"
    return f"{format_money(cost.money)}, {calls}" if cost.money else calls, remark


def results(run: RunResults, anchor: str) -> Iterator[Node]:
    """Yield a table of the results by task type, and lists of the unsolved episodes by cause."""
    summary = run.summary()
    grid = results_table(summary, "")
    rows = grid.rows if len(grid.rows) > 2 else grid.rows[-1:]
    yield table([grid.name, *grid.columns], rows, "results")
    if summary.failures:
        yield ["h5", "Not solved, by cause"]
        unsolved = [episode for episode in run.counted_rows if not episode.solved]
        by_cause = {cause: [row for row in unsolved if row.ending.cause == cause] for cause in summary.failures}
        yield ["ul.causes", *(_cause_item(cause, episodes, anchor) for cause, episodes in by_cause.items())]


def _cause_item(cause: str, episodes: Sequence[EpisodeResult], anchor: str) -> Node:
    return ["li", ["b", in_words(cause)], f" {len(episodes):,}: ", *links(_link_targets(episodes, anchor))]


def _link_targets(episodes: Iterable[EpisodeResult], anchor: str) -> list[tuple[str, str]]:
    return [(episode.name, f"{anchor}-{episode.index}") for episode in episodes]


def chart_nodes(runs: Sequence[RunResults]) -> Iterator[Node]:
    """Yield the charts of one run, or of several runs together, if there are any."""
    if chart_data := charts(runs):
        yield ["div.charts", *(["chart", chart] for chart in chart_data)]


MAX_ACTION_CHARS = 200
"""Maximum length of an action with its observation, in characters."""


def branches(run: Run) -> Iterator[Node]:
    """Yield a table for each episode that was forked, with the actions of the episode and its branches side by side.

    A branch is a run of one episode, made by `planbook fork`. If this run is itself a branch, yield one table, which
    shows it next to the original episode.
    """
    with ExitStack() as stack:
        try:
            folders = [Path(run.forked.run)] if run.forked else branches_of(run.folder)
            related_runs = [stack.enter_context(closing(Run.open(folder))) for folder in folders]
        except BadRun as error:
            yield ["p.note", f"A branch cannot be shown: {error}"]
            return
        original, branch_runs = (related_runs[0], [run]) if run.forked else (run, related_runs)
        forks = [(branch.forked, branch) for branch in branch_runs if branch.forked]
        for episode in sorted({fork.episode for fork, _ in forks}):
            yield from _branches_of_episode(original, episode, [pair for pair in forks if pair[0].episode == episode])


def _branches_of_episode(original: Run, episode: int, forks: Sequence[tuple[Fork, Run]]) -> Iterator[Node]:
    episodes = [(original, episode), *((run, 0) for _, run in forks)]
    endings = [recorded_endings(run).get(index) for run, index in episodes]
    actions = [
        [line[:MAX_ACTION_CHARS] for line in actions_taken(run, run.entries()[index])] if ending else []
        for (run, index), ending in zip(episodes, endings, strict=True)
    ]
    repeated_rows = islice(zip(*actions, strict=False), min(fork.at for fork, _ in forks))
    same_count = sum(1 for _ in takewhile(lambda row: len({*row}) == 1, repeated_rows))
    rows = [[f"1 to {same_count}", *["the same"] * len(actions)]] if same_count else []
    different_rows = list(zip_longest(*actions, fillvalue=""))[same_count:]
    rows += [[str(number), *row] for number, row in enumerate(different_rows, same_count + 1)]
    rows.append(["ended", *map(_describe_ending, endings)])
    names = [f"at {fork.at}: {fork.change or 'no change'}" for fork, _ in forks]
    task = original.entries()[episode].task.id
    yield ["h5", f"{task} (episode {episode}), and {counted(len(forks), 'branch', 'branches')}"]
    yield table(["action", "original", *names], rows, "branches")


def _describe_ending(ending: Ending | None) -> str:
    if ending is None:
        return "not ended"
    return f"{outcome_text(ending)} after {counted(ending.actions, 'action')}{score_text(ending)}"


def costs(run: RunResults) -> Iterator[Node]:
    """Yield sentences about the costs of a run, and a table if a model was asked.

    The costs include calls outside episodes. Columns that contain only zeros are left out.
    """
    spent, outside = run.cost, run.outside_cost
    yield from nodes_of((*spending_lines(run.summary()), *payoff_line(run.summary().paying)))
    if not run.costs["role"]:
        return
    total, zero = _cost_cells(spent), _cost_cells(Spending())
    columns = [name for name in total if total[name] != zero[name]]
    rows = [
        (f"{fact} {name}", cost)
        for fact, cost_by_name in run.costs.items()
        for name, cost in sorted(cost_by_name.items(), key=lambda item: item[1].tokens, reverse=True)
    ]
    yield table(
        ["", *columns],
        [[name, *(_cost_cells(cost)[column] for column in columns)] for name, cost in [*rows, (ALL, spent)]],
    )
    if outside.calls:
        calls, tokens = counted(outside.calls, "call"), counted(outside.tokens, "token")
        yield ["p.note", f"Outside the episodes, in learning and formulating: {calls}, {tokens}."]
    if spent.money != 0:
        yield ["p.note", "Money is in US dollars, from the price table; recorded replies cost nothing."]
    if spent.money is None:
        yield [
            "p.note",
            "The price is unknown, because the price table lacks a model: use --prices to give a table that lists it.",
        ]


def money_per_solved(spent: Spending, solved: int) -> str:
    """Return the money spent per solved task, or "" if it is zero or unknown."""
    return format_money(spent.money / solved) if spent.money and solved else ""


def _cost_cells(spent: Spending) -> dict[str, str]:
    estimated = ESTIMATED if spent.estimated else ""
    return {
        "calls": f"{spent.calls:,}",
        "replayed": f"{spent.replayed:,}",
        "prompt tokens": f"{spent.prompt:,}{estimated}",
        "cached prompt tokens": f"{spent.cached:,}",
        "completion tokens": f"{spent.completion:,}{estimated}",
        "money": format_money(spent.money),
        "model time": format_clock(spent.waited),
    }


MAX_LISTED = 200
"""Maximum number of false claims and tracebacks that are listed."""


def outcome_counts(run: RunResults, anchor: str) -> Iterator[Node]:
    """Yield the counts of outcomes, the tracebacks, the false claims, and the inputs of the run.

    A claim is an agent's statement about whether it has solved its whole task.
    """
    counts = Counter(episode.outcome for episode in run.counted_rows)
    outcomes = (f"{in_words(outcome.value)} {counts[outcome]:,}" for outcome in Outcome if counts[outcome])
    yield ["p", f"Outcomes: {', '.join(outcomes) or 'none yet'}."]
    # the section about results already lists the failures by cause
    yield from nodes_of(failure_lines(run.summary().model_copy(update={"failures": {}})))
    for row in [episode for episode in run.counted_rows if episode.outcome is Outcome.BROKEN][:MAX_LISTED]:
        first, _, trace = row.ending.message.partition("\n")
        if trace:
            yield details("", ["span", [f"a#{anchor}-{row.index}", row.name], f": {first}"], ["pre", trace])
    if run.run.file.unsafe_no_sandbox:
        yield ["p.unsafe", UNSAFE]
    if false_claims := _link_targets((row for row in run.counted_rows if row.claim.is_false), anchor):
        yield ["p.false-claims", "False claims: ", *links(false_claims, MAX_LISTED)]
    yield ["h5", "Inputs of the run"]
    yield from _inputs(run)


def _inputs(run: RunResults) -> Iterator[Node]:
    """Yield the inputs that changed before each resume, and the contents of run.json except the settings."""
    file = RunFile.read(run.run.folder)
    origin = f"by planbook {file.versions.get('planbook', 'of an unknown version')}"
    note = "; these episodes were not played here." if file.imported else "."
    yield ["p", f"{'Imported' if file.imported else 'Begun'} {origin}{note}"]
    for event in run.outside_events:
        body: Any = event.body
        if event.kind == INVOCATION and "changed" in body:
            changed = f"with changes: {'; '.join(body['changed'])}" if body["changed"] else "with the original inputs"
            yield ["p", f"Resumed on {utc_time(event.at)}, {changed}."]
    recorded = file.model_dump(mode="json", exclude={"config"})
    yield details("", "Versions and checksums", definitions(nonempty_values(recorded | {"environment": run.versions})))


def all_settings(run: RunResults) -> Iterator[Node]:
    """Yield the settings of a run, including all options of its planning method."""
    times = [("begun", run.run.begun), ("events", f"{utc_time(run.first_time)} to {utc_time(run.last_time)}")]
    yield definitions([*times, *nonempty_values(with_options(run))])


def nonempty_values(value: Any) -> Iterator[tuple[str, str]]:
    """Yield the dotted name and the text of each nested value that is not empty."""
    return ((name, text) for name, text in flatten_settings(value) if text)


def comparison(runs: Sequence[RunResults]) -> Iterator[Node]:
    """Yield a table of several runs, and a comparison of each run with the first one, over the tasks that both played.

    Each run has a letter: A for the first on the page, B for the second, and so on. If a run cannot be compared with
    the first one, a sentence gives the reason.
    """
    yield from nodes_of(group_parts(group_rows(runs)))
    yield ["h5", "The same tasks, pair by pair"]
    first, *others = runs
    compared = dict[str, RunComparison]()
    for number, other in enumerate(others, 1):
        try:
            compared[run_letter(number)] = compare(first, other)
        except BadArgument as error:
            yield ["p.note", f"{run_letter(0)} and {run_letter(number)} are not compared: {error}"]
    corrected = zip(compared, with_corrections([*compared.values()]), strict=True)
    yield from nodes_of(comparison_parts(dict(corrected), run_letter(0)))
    yield from chart_nodes(runs)
