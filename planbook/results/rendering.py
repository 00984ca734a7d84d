"""Render the summary of a run as sentences and small tables, for the terminal and the report."""

from collections.abc import Iterable, Iterator, Mapping

from planbook.planner import Grid
from planbook.results.learning_cost import LearningPayoff
from planbook.results.matches import matches_table
from planbook.results.measures import ALL, MeasuresByType, MilestoneCounts
from planbook.results.statistics import wilson
from planbook.results.summary import ClaimCounts, Summary
from planbook.wording import ESTIMATED, NO_FIGURE, PRICE_UNKNOWN, counted, first_line, fixed, in_words, interval, listed

SHOWN = 3
"""Maximum number of false claims, of broken episodes and of unjudged ones that are listed by name."""
NO_BREAK_EVEN = (
    'The break-even point (column "pays") needs a run that learned nothing, with the same settings apart from seeds '
    "and knowledge, and a solved task in both runs. It does not exist for a run of `planbook build`. If a row has no "
    "figures, the cost of learning the run's knowledge is not known."
)
UNSAFE = "Plans were allowed to run where the kernel cannot confine them (--unsafe-no-sandbox)."


def results_table(summary: Summary, title: str) -> Grid:
    """Return a table with a row for each task type: the tasks solved, their share with its interval, and mean counts.

    Episodes that were broken or not run are counted in separate columns, because they are not failures of the method.
    """
    unplayed = ("broken", "not run") if summary.unplayed else ()
    counted_as = "tasks" if summary.repeats == 1 else "episodes"
    columns = ("solved", *unplayed, counted_as, "%", "95 % interval", "mean actions", "mean error steps")
    unplayed_in_all = [sum(column) for column in zip(*summary.unplayed_by_type.values(), strict=True)] or [0, 0]
    kinds = [(kind, *counts, summary.unplayed_by_type.get(kind, (0, 0))) for kind, counts in summary.by_type.items()]
    means = {**summary.mean_actions_by_type, ALL: summary.mean_actions}
    errors = {**summary.mean_error_steps_by_type, ALL: summary.mean_error_steps}
    rows = []
    for kind, solved, tasks, excluded in (*kinds, (ALL, summary.solved, summary.tasks, unplayed_in_all)):
        share = f"{solved / tasks:.1%}" if tasks else NO_FIGURE
        bounds = summary.interval_of(kind)
        within = interval(*bounds) if bounds else NO_FIGURE
        counts = (f"{count:,}" for count in (solved, *(excluded if unplayed else ()), tasks))
        rows.append((kind, *counts, share, within, fixed(means[kind], 2), fixed(errors[kind], 2)))
    return Grid(title, "task type", columns, rows)


def figure_parts(summary: Summary) -> Iterator[Grid | str]:
    """Yield the method's own statistics, the claims, the matches of goals, and the measures and milestones."""
    for figures in summary.methods.values():
        yield from figures.describe()
    if summary.claims is not None:
        yield from claim_lines(summary.claims)
    if summary.matches is not None:
        yield matches_table(summary.matches)
    yield from measure_lines(summary.measures)
    yield from milestone_parts(summary.milestones, summary.unlock_score)


def claim_lines(figures: ClaimCounts) -> Iterable[str]:
    """Yield a line that counts the claims, and a line that lists the first false claims, if there are any."""
    right = figures.claimed_and_solved + figures.denied_and_not
    made = right + len(figures.false)
    none = figures.unclaimed_and_solved + figures.unclaimed_and_not
    unplayed = f"; {figures.unplayed} without a verdict" if figures.unplayed else ""
    yield (
        f"Claims about whole tasks: {made} made, {right} right; "
        f"{figures.claimed_and_not} claimed solved but not solved, "
        f"{figures.denied_and_solved} claimed failed but solved; {none} without a claim{unplayed}."
    )
    if figures.false:
        yield f"False claims: {listed((f'{claim.task} (claimed {claim.claim})' for claim in figures.false), SHOWN)}."


def measure_lines(measured: MeasuresByType) -> Iterable[str]:
    """Yield a line of measures for each task type and, if there are several, for all of them."""
    for kind, figures in measured.items():
        values = ", ".join(f"{name} {figure}" for name, figure in figures.items())
        counts = sorted({figure.episodes for figure in figures.values()})
        over = f"{counts[0]}" if len(counts) == 1 else f"{counts[0]} to {counts[-1]}"
        yield f"Measured in {kind}: {values}; over {over} {'episode' if over == '1' else 'episodes'}."


def milestone_parts(reached: MilestoneCounts, score: float | None) -> Iterator[Grid | str]:
    """Yield the milestones of each task type as a line. If there is a score, open-ended types get a table instead."""
    names = {name for counts in reached.values() for name in counts}
    for kind, counts in reached.items():
        if score is not None and kind not in names:
            shares = [(name, f"{count:,} / {of:,}", f"{count / of:.1%}") for name, (count, of) in counts.items()]
            yield Grid(f"Reached in {kind}", "milestone", ("episodes", "%"), shares)
        else:
            yield f"Reached in {kind}: {', '.join(f'{name} {count}/{of}' for name, (count, of) in counts.items())}."
    if score is not None:
        yield f"Unlock score, over all of them: {score:.2f} %."


def failure_lines(summary: Summary) -> Iterable[str]:
    """Yield the causes of failures, the first errors of broken episodes, skipped tasks, and the spread over repeats."""
    if summary.failures:
        causes = ", ".join(f"{in_words(cause)} {count}" for cause, count in summary.failures.items())
        yield f"Not solved, by cause: {causes}."
    if summary.unplayed:
        played = summary.tasks - summary.unplayed
        share = (
            f" of the {played} that were played {summary.solved} were solved ({summary.solved / played:.1%}, 95 % "
            f"interval {interval(*wilson(summary.solved, played))})"
            if played
            else " none was played to its end"
        )
        yield (
            "Broken (a fault of planbook or of the environment) and not run count as not solved: "
            f"{summary.unplayed} of {summary.tasks};{share}."
        )
    yield from _named(summary.unjudged_messages, "Not judged here, and not counted as solved: {}; {}", "unjudged")
    broken = {task: first_line(message) for task, message in summary.broken_messages.items()}
    yield from _named(broken, "Broken: {}: {}", "broken")
    if summary.unjudgeable:
        tasks = counted(sum(summary.unjudgeable.values()), "more task")
        yield f"Not played and not counted, because they cannot be judged here: {tasks} of the selection."
        yield from (f"  {number}: {reason}" for reason, number in summary.unjudgeable.items())
    if summary.left_out:
        yield f"Left out, as their type was solved often enough in a row: {summary.left_out}."
    if summary.spread is not None:
        counts = ", ".join(map(str, summary.solved_by_repeat))
        yield f"Solved in each of {summary.repeats} repeats: {counts}; standard deviation {summary.spread:.1%}."


def _named(messages: Mapping[str, str], line: str, adjective: str) -> Iterator[str]:
    yield from (line.format(task, message) for task, message in list(messages.items())[:SHOWN])
    if (more := len(messages) - SHOWN) > 0:
        yield f"... and {counted(more, f'more {adjective} task')}."


def spending_lines(summary: Summary) -> Iterable[str]:
    """Yield lines with the cost of model calls, if there were any."""
    if not summary.model_calls or not summary.tasks:
        return
    replayed = f", {summary.replayed_calls:,} of them from a recording" if summary.replayed_calls else ""
    money = PRICE_UNKNOWN if summary.money is None else f"${summary.money:.2f}"
    estimated = ESTIMATED if summary.estimated else ""
    ran = summary.tasks - sum(not_run for _, not_run in summary.unplayed_by_type.values())
    per_task = f"; {summary.model_calls / ran:.1f} calls and {summary.tokens / ran:,.0f} tokens per task" if ran else ""
    yield (
        f"{counted(summary.model_calls, 'model call')}{replayed}; {summary.prompt_tokens:,} prompt and "
        f"{summary.completion_tokens:,} completion tokens{estimated}; {money}{per_task}."
    )
    if summary.reworded_replies:
        replies = counted(summary.reworded_replies, "recorded reply", "recorded replies")
        yield f"{replies} answered prompts whose wording has changed since; --strict-recordings refuses them."
    if summary.shortened_prompts:
        yield f"Cut to fit the context: {counted(summary.shortened_prompts, 'prompt')}; the report shows which."


def payoff_line(payoff: LearningPayoff | None) -> Iterable[str]:
    """Yield a line with the cost of a solved task, without and with learning, if anything was learned."""
    if payoff is None or not payoff.has_learned:
        return
    learning = f"learning ({counted(payoff.learning_calls, 'call')}, {payoff.learning_tokens:,} tokens)"
    if not payoff.solved:
        yield f"No task was solved for the cost of {learning}."
        return
    calls, tokens, calls_with, tokens_with = payoff.per_solved.values()
    played = f"Playing took {calls:,.1f} calls and {tokens:,.0f} tokens per solved task"
    yield f"{played}; with {learning} included, {calls_with:,.1f} calls and {tokens_with:,.0f} tokens."


def payoff_table(rows: Mapping[str, LearningPayoff | None], name: str = "run") -> Iterator[Grid | str]:
    """Yield a table with the cost of a solved task in each run, without and with the cost of learning.

    ``rows`` maps the displayed names of the runs to their payoffs. If no run learned anything, yield nothing.
    """
    if not any(payoff and payoff.has_learned for payoff in rows.values()):
        return
    played = ("calls / solved", "with learning", "tokens / solved", "with learning")
    title = "For each solved task, without and with the cost of learning"
    columns = ("learning: calls", "tokens", *played, "pays")
    yield Grid(title, name, columns, [(row, *_payoff_cells(payoff)) for row, payoff in rows.items()])
    learned = {row: payoff for row, payoff in rows.items() if payoff and payoff.has_learned}
    yield from (_break_even(row, payoff) for row, payoff in learned.items() if payoff.beside)
    if not all(payoff.beside for payoff in learned.values()):
        yield NO_BREAK_EVEN


def _payoff_cells(payoff: LearningPayoff | None) -> Iterator[str]:
    if payoff is None:
        yield from (NO_FIGURE for _ in range(7))
        return
    yield from (f"{payoff.learning_calls:,}", f"{payoff.learning_tokens:,}")
    for name in ("calls", "calls_with_learning", "tokens", "tokens_with_learning"):
        figure = payoff.per_solved[name]
        yield NO_FIGURE if figure is None else f"{figure:,.{1 if name.startswith('calls') else 0}f}"
    pays = "never" if payoff.break_even is None else f"after {payoff.break_even:,}"
    yield pays if payoff.has_learned and payoff.beside else NO_FIGURE


def _break_even(name: str, payoff: LearningPayoff) -> str:
    if payoff.break_even is None:
        return f"{name}: learning does not pay: a solved task takes no fewer tokens than in {payoff.beside}."
    reached = "which is reached" if payoff.solved >= payoff.break_even else f"{payoff.solved:,} are solved so far"
    solved = counted(payoff.break_even, "solved task")
    return f"{name}: the tokens of learning are saved after {solved}, compared with {payoff.beside}; {reached}."
