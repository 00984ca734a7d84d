"""The summary of a run: counts over all its tasks, and the sentences and small tables that show these counts."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from statistics import fmean, stdev
from typing import Any, TypeVar

from pydantic import BaseModel, Field, SerializeAsAny

from planbook.console import ALL
from planbook.planner import NOT_JUDGED, Figures, Grid, Outcome, PlayedEpisode, Spending, figures_of, mean_of
from planbook.results.learning_cost import LearningPayoff
from planbook.results.measures import (
    MatchCounts,
    Measure,
    count_matches,
    matches_table,
    measure_lines,
    measures,
    milestone_parts,
    milestones,
    total_unlock_score,
)
from planbook.results.rows import NO_CLAIM, EpisodeResult, TaskClaim, by_task
from planbook.results.statistics import wilson_over
from planbook.wording import ESTIMATED, NO_FIGURE, counted, first_line, fixed, format_money, in_words, interval, listed

Counted = TypeVar("Counted")
Rows = Sequence[EpisodeResult]


class ClaimCounts(BaseModel):
    """Counts of episodes by the claim about the task and by the verdict.

    In the names of the fields, ``not`` means "not solved". In the output of ``--json``, this object is ``claims``.
    """

    claimed_and_solved: int
    claimed_and_not: int
    denied_and_solved: int
    """Episodes that solved their task, although the last claim was that it is unsolved."""
    denied_and_not: int
    unclaimed_and_solved: int
    unclaimed_and_not: int
    unplayed: int
    """Episodes that were broken, not played or not judged. Their claims do not count."""
    false: tuple[TaskClaim, ...]
    """Claims that the environment contradicts."""


class Summary(BaseModel):
    """The object at the end of the output of ``--json``. ``by_type`` maps a task type to [tasks solved, all tasks]."""

    tasks: int
    solved: int
    by_type: dict[str, tuple[int, int]]
    mean_score: float = 0.0
    """The mean of the environment's score over all tasks, from 0 to 1. A task that was not played has the score 0."""
    failures: dict[str, int]
    left_out: int = 0
    """Number of tasks that `planbook build` skipped because their type had been solved often enough in a row."""
    unjudgeable: dict[str, int] = Field(default_factory=dict)
    """Maps each reason why tasks cannot be judged in this installation to the number of tasks not played."""
    mean_actions: float | None
    mean_actions_by_type: dict[str, float | None]
    repeats: int
    solved_by_repeat: tuple[int, ...]
    solved_sd: float | None = Field(default=None, exclude=True)
    """The standard deviation, over the repeats, of the share of solved tasks.

    None if there is only one repeat, or if some episodes were not played.
    """
    mean_error_steps: float | None = None
    """The mean number of cells (pieces of plan code) that ended in an error: the error steps of AutoManual, table 3."""
    mean_error_steps_by_type: dict[str, float | None] = Field(default_factory=dict)
    model_calls: int = 0
    replayed_calls: int = 0
    reworded_replies: int = 0
    """Number of recorded replies to prompts with the same data as now, but a different wording."""
    shortened_prompts: int = 0
    """Number of calls whose prompt was shortened to fit into the model's context."""
    stopped_replies: int = 0
    """Number of calls whose reply was stopped before its end. This happens only in runs that stream replies."""
    tokens: int = 0
    estimated: bool = Field(default=False, exclude=True)
    """True if a server did not count some of the tokens."""
    unfinished: Spending = Field(default=Spending(), exclude=True)
    """The part of the costs that was spent in episodes that have not ended."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    money: float | None = 0.0
    """US dollars; None if a price is unknown."""
    paying: LearningPayoff | None = None
    """The cost per solved task, without and with learning, or None if the cost of learning is not known."""
    methods: dict[str, SerializeAsAny[Figures]] = Field(default_factory=dict)
    """Maps names to the statistics that the planning method computes."""
    claims: ClaimCounts | None = None
    """Claims about whole tasks, compared with the environment's verdict, or None if there are no claims."""
    matches: MatchCounts | None = Field(default=None, exclude_if=lambda matches: matches is None)
    """Counts of matches of goals with found task types. Left out if there was no goal to match."""
    milestones: dict[str, dict[str, tuple[int, int]]] = Field(default_factory=dict)
    """Maps task types to dicts from milestones to [episodes that reached it, episodes]. See ``measures.milestones``."""
    unlock_score: float | None = None
    """Crafter's score in percent. None if the environment does not list all milestones, or no goal is open-ended."""
    measures: dict[str, dict[str, Measure]] = Field(default_factory=dict)
    """Maps task types (and ``all``, if there are several) to the environment's measures besides success."""
    intervals: dict[str, tuple[float, float] | None] = Field(default_factory=dict, exclude=True)
    """Maps task types and ``all`` to the 95 % interval of the share of solved episodes. See ``solved_interval``."""
    unplayed_by_type: dict[str, tuple[int, int]] = Field(default_factory=dict)
    """Maps task types to [episodes that are broken, episodes that were not run]. These episodes count as not solved."""
    seconds: float | None
    """Time without pauses: of the command that printed this summary or, in a report, of the whole run.

    None if the run was imported."""
    run: str
    broken_messages: dict[str, str] = Field(default_factory=dict)
    """Maps the ids of tasks whose episodes are broken (failed through no fault of a plan) to the errors."""
    unjudged_messages: dict[str, str] = Field(default_factory=dict)
    """Maps the ids of tasks that the environment could not judge to messages. These tasks do not count as solved."""

    @property
    def unit(self) -> str:
        """The noun for the counts: "task", or "episode" if there are several repeats of each task."""
        return "task" if self.repeats == 1 else "episode"

    @property
    def broken(self) -> int:
        """Number of episodes that failed through no fault of a plan."""
        return sum(broken for broken, _ in self.unplayed_by_type.values())

    @property
    def not_run(self) -> int:
        """Number of episodes that were not run, or have not ended."""
        return sum(not_run for _, not_run in self.unplayed_by_type.values())

    @property
    def unplayed(self) -> int:
        """Number of episodes that say nothing about the method, because they were broken or not run."""
        return self.broken + self.not_run


def summarise(
    rows: Sequence[EpisodeResult],
    seconds: float | None,
    run: str,
    spent: Spending | None = None,
    all_milestones: Sequence[str] = (),
    unjudgeable: Mapping[str, int] = {},
    figures: Sequence[type[Figures]] | None = None,
    payoff: LearningPayoff | None = None,
) -> Summary:
    """Count the episodes of a run. An episode without an ending counts as NOT_RUN. Skipped episodes are not counted.

    ``all_milestones`` lists the milestones of the environment, if they are the same for every task. ``unjudgeable``
    maps each reason why tasks cannot be judged to the number of tasks that were not played for this reason. ``figures``
    are the classes of the statistics that the planning method computes. ``payoff`` is the cost per solved task.
    """
    figures = figures_of() if figures is None else figures
    included = [row for row in rows if not row.is_skipped]
    types = sorted({row.type for row in rows})
    rows_by_type = {task_type: [row for row in included if row.type == task_type] for task_type in types}
    unplayed = _of_each(rows_by_type, _unplayed)
    milestone_counts = milestones(included, all_milestones)
    played = [PlayedEpisode(row.type, row.ending, row.spans) for row in included]
    repeats = 1 + max((row.repeat for row in rows), default=0)
    solved_by_repeat = [[row.solved for row in included if row.repeat == number] for number in range(repeats)]
    return Summary(
        tasks=len(included),
        solved=sum(row.solved for row in included),
        by_type=_of_each(rows_by_type, lambda group: (sum(row.solved for row in group), len(group))),
        mean_score=round(fmean([row.ending.verdict.score for row in included] or [0.0]), 4),
        failures=dict(Counter(row.ending.cause for row in included if not row.solved).most_common()),
        mean_actions=_mean("actions", included),
        mean_actions_by_type=_of_each(rows_by_type, partial(_mean, "actions")),
        mean_error_steps=_mean("error_steps", included),
        mean_error_steps_by_type=_of_each(rows_by_type, partial(_mean, "error_steps")),
        **_costs(spent or Spending()),
        unfinished=sum((row.cost for row in included if row.outcome is Outcome.NOT_RUN), Spending()),
        paying=payoff,
        left_out=len(rows) - len(included),
        unjudgeable=dict(unjudgeable),
        repeats=repeats,
        solved_by_repeat=tuple(map(sum, solved_by_repeat)),
        solved_sd=_solved_sd(solved_by_repeat) if all(row.outcome.played for row in included) else None,
        methods={cls.key: result for cls in figures if (result := cls.count(played)) is not None},
        claims=count_claims([row.claim for row in included]),
        matches=count_matches(included),
        milestones=milestone_counts,
        unlock_score=total_unlock_score(milestone_counts, all_milestones),
        measures=measures(included),
        intervals={**_of_each(rows_by_type, solved_interval), ALL: solved_interval(included)},
        unplayed_by_type={task_type: counts for task_type, counts in unplayed.items() if any(counts)},
        seconds=None if seconds is None else round(seconds, 3),
        run=run,
        broken_messages={row.entry.task.id: row.ending.message for row in included if row.outcome is Outcome.BROKEN},
        unjudged_messages={row.entry.task.id: row.ending.message for row in included if row.ending.cause == NOT_JUDGED},
    )


def _of_each(groups: Mapping[str, Rows], count: Callable[[Rows], Counted]) -> dict[str, Counted]:
    return {name: count(rows) for name, rows in groups.items()}


def _solved_sd(solved_by_repeat: Iterable[Sequence[bool]]) -> float | None:
    """Return the standard deviation, over the repeats, of the share of solved episodes, or None for a single repeat."""
    shares = [fmean(solved) for solved in solved_by_repeat if solved]
    return stdev(shares) if len(shares) > 1 else None


def count_claims(rows: Sequence[TaskClaim]) -> ClaimCounts | None:
    """Count the claims of a run. Return None if no played episode has a claim."""
    if all(row.claim == NO_CLAIM or not row.played for row in rows):
        return None
    counts = Counter((row.claim, row.solved) for row in rows if row.played)
    return ClaimCounts(
        claimed_and_solved=counts["solved", True],
        claimed_and_not=counts["solved", False],
        denied_and_solved=counts["not solved", True],
        denied_and_not=counts["not solved", False],
        unclaimed_and_solved=counts[NO_CLAIM, True],
        unclaimed_and_not=counts[NO_CLAIM, False],
        unplayed=sum(not row.played for row in rows),
        false=tuple(row for row in rows if row.is_false),
    )


def solved_interval(rows: Sequence[EpisodeResult]) -> tuple[float, float] | None:
    """Return the 95 % interval of the share of solved episodes. Repeats of a task do not count as independent.

    Return None if there are no episodes, or if some of them were not played.
    """
    if not rows or not all(row.outcome.played for row in rows):
        return None
    return wilson_over([row.solved for row in episodes] for episodes in by_task(rows))


def _costs(spent: Spending) -> dict[str, Any]:
    return {
        "model_calls": spent.calls,
        "replayed_calls": spent.replayed,
        "reworded_replies": spent.reworded,
        "shortened_prompts": spent.shortened,
        "stopped_replies": spent.stopped,
        "tokens": spent.tokens,
        "estimated": spent.estimated,
        "prompt_tokens": spent.prompt,
        "completion_tokens": spent.completion,
        "money": spent.money,
    }


def _mean(count: str, rows: Iterable[EpisodeResult]) -> float | None:
    """Return the mean of a count, such as ``actions``, over the played episodes."""
    return mean_of(getattr(row.ending, count) for row in rows if row.outcome.played)


def _unplayed(rows: Iterable[EpisodeResult]) -> tuple[int, int]:
    outcomes = Counter(row.outcome for row in rows)
    return outcomes[Outcome.BROKEN], outcomes[Outcome.NOT_RUN]


MAX_NAMES = 3
"""Maximum number of names in each list: of false claims, of broken episodes, and of episodes that were not judged."""
UNSAFE = "Plans were allowed to run where the kernel cannot confine them (--unsafe-no-sandbox)."


def results_table(summary: Summary, title: str) -> Grid:
    """Return a table with a row for each task type: the tasks solved, their share with its interval, and mean counts.

    Episodes that are broken or were not run are not failures of the method, so they have separate columns.
    """
    unplayed = ("broken", "not run") if summary.unplayed else ()
    columns = ("solved", *unplayed, f"{summary.unit}s", "%", "95 % interval", "mean actions", "mean error steps")
    counts_by_type = [
        (task_type, *counts, summary.unplayed_by_type.get(task_type, (0, 0)))
        for task_type, counts in summary.by_type.items()
    ]
    mean_actions = {**summary.mean_actions_by_type, ALL: summary.mean_actions}
    mean_errors = {**summary.mean_error_steps_by_type, ALL: summary.mean_error_steps}
    rows = []
    for task_type, solved, tasks, excluded in (
        *counts_by_type,
        (ALL, summary.solved, summary.tasks, (summary.broken, summary.not_run)),
    ):
        share = f"{solved / tasks:.1%}" if tasks else NO_FIGURE
        bounds = summary.intervals[task_type]
        bounds_text = interval(*bounds) if bounds else NO_FIGURE
        counts = (f"{count:,}" for count in (solved, *(excluded if unplayed else ()), tasks))
        means = fixed(mean_actions[task_type], 2), fixed(mean_errors[task_type], 2)
        rows.append((task_type, *counts, share, bounds_text, *means))
    return Grid(title, "task type", columns, rows)


def figure_parts(summary: Summary) -> Iterator[Grid | str]:
    """Yield the planning method's statistics, the claims, the matches of goals, the measures and the milestones."""
    for figures in summary.methods.values():
        yield from figures.describe()
    if summary.claims is not None:
        yield from claim_lines(summary.claims)
    if summary.matches is not None:
        yield matches_table(summary.matches)
    yield from measure_lines(summary.measures)
    yield from milestone_parts(summary.milestones, summary.unlock_score)


def claim_lines(counts: ClaimCounts) -> Iterable[str]:
    """Yield a line that counts the claims, and a line that lists the first false claims, if there are any."""
    correct = counts.claimed_and_solved + counts.denied_and_not
    total = correct + len(counts.false)
    unclaimed = counts.unclaimed_and_solved + counts.unclaimed_and_not
    unplayed = f"; {counts.unplayed} without a verdict" if counts.unplayed else ""
    yield (
        f"Claims about whole tasks: {total} made, {correct} right; "
        f"{counts.claimed_and_not} claimed solved but not solved, "
        f"{counts.denied_and_solved} claimed failed but solved; {unclaimed} without a claim{unplayed}."
    )
    if counts.false:
        yield f"False claims: {listed(map(str, counts.false), MAX_NAMES)}."


def failure_lines(summary: Summary) -> Iterable[str]:
    """Yield the causes of failures, the first errors of broken episodes, skipped tasks, and the spread over repeats."""
    if summary.failures:
        causes = ", ".join(f"{in_words(cause)} {count}" for cause, count in summary.failures.items())
        yield f"Not solved, by cause: {causes}."
    if summary.unplayed:
        yield (
            "Broken (a fault of the environment, the method, its files or planbook) and unplayed episodes count as not "
            f"solved: {summary.unplayed} of {summary.tasks}."
        )
    yield from _message_lines(
        summary.unjudged_messages, "Not judged here, so not counted as solved: {}; {}", "unjudged"
    )
    broken = {task: first_line(message) for task, message in summary.broken_messages.items()}
    yield from _message_lines(broken, "Broken: {}: {}", "broken")
    if summary.unjudgeable:
        tasks = counted(sum(summary.unjudgeable.values()), "more task")
        yield f"Not played and not counted, because they cannot be judged here: {tasks} of the selection."
        yield from (f"  {number}: {reason}" for reason, number in summary.unjudgeable.items())
    if summary.left_out:
        yield f"Skipped, because their type had been solved often enough in a row: {summary.left_out}."
    if summary.solved_sd is not None:
        counts = ", ".join(map(str, summary.solved_by_repeat))
        yield f"Solved in each of {summary.repeats} repeats: {counts}; standard deviation {summary.solved_sd:.1%}."


def _message_lines(messages: Mapping[str, str], template: str, adjective: str) -> Iterator[str]:
    yield from (template.format(task, message) for task, message in list(messages.items())[:MAX_NAMES])
    if (more := len(messages) - MAX_NAMES) > 0:
        yield f"... and {counted(more, f'more {adjective} task')}."


def spending_lines(summary: Summary) -> Iterable[str]:
    """Yield lines with the cost of model calls, if there were any."""
    if not summary.model_calls or not summary.tasks:
        return
    of_them = "" if summary.replayed_calls == summary.model_calls == 1 else f"{summary.replayed_calls:,} of them "
    replayed = f", {of_them}from a recording" if summary.replayed_calls else ""
    estimated = ESTIMATED if summary.estimated else ""
    ran = summary.tasks - summary.not_run
    calls, tokens = summary.model_calls - summary.unfinished.calls, summary.tokens - summary.unfinished.tokens
    per_unit = f" per {'finished ' if summary.unfinished.calls else ''}{summary.unit}"
    mean_cost = f"; {calls / ran:.1f} calls and {tokens / ran:,.0f} tokens{per_unit}" if ran else ""
    yield (
        f"{counted(summary.model_calls, 'model call')}{replayed}; {summary.prompt_tokens:,} prompt and "
        f"{summary.completion_tokens:,} completion tokens{estimated}; {format_money(summary.money)}{mean_cost}."
    )
    if summary.reworded_replies:
        replies = counted(
            summary.reworded_replies, "recorded reply answered a prompt", "recorded replies answered prompts"
        )
        yield f"{replies} whose wording has changed since; --strict-recordings refuses such replies."
    if summary.shortened_prompts:
        yield f"Cut to fit the context: {counted(summary.shortened_prompts, 'prompt')}; the report shows which."
