"""The summary of a run: counts over every task that it was asked to play."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

from pydantic import BaseModel, Field, SerializeAsAny, SerializerFunctionWrapHandler, model_serializer

from planbook.planner import NOT_JUDGED, Figures, Outcome, Played, Spent, figures_of, mean_of
from planbook.results.claims import ClaimCounts, count_claims
from planbook.results.learning_cost import Paying
from planbook.results.matches import MatchCounts, count_matches
from planbook.results.measures import ALL, Measure, measures, milestones, unlocked
from planbook.results.rows import Result
from planbook.results.statistics import wilson_over
from planbook.wording import TYPE_SOLVED

NONE: Mapping[str, int] = {}
ALWAYS = ("subtasks", "graph", "goals", "search")
"""Keys of methods' figures that ``--json`` has in every run, null where its method does not count them."""


class Summary(BaseModel):
    """The object that ends the standard output of ``--json``. ``by_type`` maps a type to [solved, tasks]."""

    tasks: int
    solved: int
    by_type: dict[str, tuple[int, int]]
    mean_score: float = 0.0
    """The environment's score, from 0 to 1, over all tasks; of one that was not played it is 0."""
    failures: dict[str, int]
    left_out: int = 0
    """Building tasks that were left out, since their type had been solved often enough."""
    unjudgeable: dict[str, int] = Field(default_factory=dict)
    """Tasks that fit the selection and were not played, as nothing here can judge them: counts by reason."""
    mean_actions: float | None
    mean_actions_by_type: dict[str, float | None]
    repeats: int
    solved_by_repeat: tuple[int, ...]
    mean_error_steps: float | None = None
    mean_error_steps_by_type: dict[str, float | None] = Field(default_factory=dict)
    model_calls: int = 0
    replayed_calls: int = 0
    reworded_replies: int = 0
    """Recorded replies to prompts whose wording has changed since; their data are the same."""
    shortened_prompts: int = 0
    """Calls whose prompt was cut to fit the context."""
    stopped_replies: int = 0
    """Calls whose reply was stopped before its end, of a run that streamed."""
    tokens: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    money: float | None = 0.0
    """US dollars; None where a price is unknown."""
    paying: Paying | None = None
    """What a solved task cost with learning included; None if what learning cost is not known."""
    methods: dict[str, SerializeAsAny[Figures]] = Field(default_factory=dict)
    """The method's own figures, by name; in JSON each has its own key, null for what the method does not count."""
    claims: ClaimCounts | None = None
    """Claims about whole tasks, against the verdict; None where nothing is claimed."""
    matches: MatchCounts | None = Field(default=None, exclude_if=lambda matches: matches is None)
    """How goals were matched with found task types; left out where types are given."""
    milestones: dict[str, dict[str, tuple[int, int]]] = Field(default_factory=dict)
    """Milestones reached, as [episodes, of how many], by task type where all tasks of the type have the same goal."""
    unlock_score: float | None = None
    """Crafter's score, in percent, of an environment that names all its milestones."""
    measures: dict[str, dict[str, Measure]] = Field(default_factory=dict)
    """The environment's measures beside success, by task type (``all`` where there are several)."""
    intervals: dict[str, tuple[float, float]] = Field(default_factory=dict, exclude=True)
    """The 95 % interval of the share solved, by task type and under ``all``; repeats of a task are one case."""
    unplayed_by_type: dict[str, tuple[int, int]] = Field(default_factory=dict)
    """[broken, not run] of the task types that have such episodes; these count as not solved."""
    seconds: float
    """Of the invocation that ends with this; in a report, from the run's first event to its last, pauses included."""
    run: str
    broken_messages: dict[str, str] = Field(default_factory=dict)
    """Task id to error, for the episodes that failed through no fault of a plan."""
    unjudged_messages: dict[str, str] = Field(default_factory=dict)
    """Task id to answer, for the tasks that the environment does not judge; they do not count as solved."""

    @model_serializer(mode="wrap")
    def _with_methods(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        found: dict[str, Any] = plain(self)
        none = dict.fromkeys(ALWAYS)
        return {**found, **none, **found.pop("methods")}

    @property
    def broken(self) -> int:
        """Episodes that failed through no fault of a plan."""
        return self.failures.get(Outcome.BROKEN.value, 0)

    @property
    def unplayed(self) -> int:
        """Episodes that say nothing of what played: broken, or not run."""
        return sum(map(sum, self.unplayed_by_type.values()))

    @property
    def spread(self) -> float | None:
        """The standard deviation of the share solved, over the repeats; None for a single one."""
        if self.repeats < 2 or not self.tasks:
            return None
        return stdev(count * self.repeats / self.tasks for count in self.solved_by_repeat)


def summarise(
    rows: Sequence[Result],
    seconds: float,
    run: str,
    spent: Spent | None = None,
    known: Sequence[str] = (),
    unjudgeable: Mapping[str, int] = NONE,
    figures: Sequence[type[Figures]] | None = None,
    paying: Paying | None = None,
) -> Summary:
    """Count the episodes of a run; one without an ending counts as NOT_RUN, and those left out on purpose do not count.

    ``known`` are all milestones of the environment, where they are the same for every task; ``unjudgeable`` counts the
    tasks that were never played, by reason; ``figures`` are what the method counts of its own, ``paying`` is what
    learning cost beside them.
    """
    counting = figures_of() if figures is None else figures
    counted = [row for row in rows if row.ending.cause != TYPE_SOLVED]
    types = sorted({row.type for row in rows})
    of_type = {kind: [row for row in counted if row.type == kind] for kind in types}
    reached = milestones(counted, known)
    played = [Played(row.type, row.ending, row.spans) for row in counted]
    repeats = 1 + max((row.repeat for row in rows), default=0)
    return Summary(
        tasks=len(counted),
        solved=_solved(counted),
        by_type={kind: (_solved(each), len(each)) for kind, each in of_type.items()},
        mean_score=round(fmean([row.ending.verdict.score for row in counted] or [0.0]), 4),
        failures=dict(Counter(row.ending.cause for row in counted if not row.solved).most_common()),
        mean_actions=mean_actions(counted),
        mean_actions_by_type={kind: mean_actions(each) for kind, each in of_type.items()},
        mean_error_steps=mean_errors(counted),
        mean_error_steps_by_type={kind: mean_errors(each) for kind, each in of_type.items()},
        **_costs(spent or Spent()),
        paying=paying,
        left_out=len(rows) - len(counted),
        unjudgeable=dict(unjudgeable),
        repeats=repeats,
        solved_by_repeat=tuple(_solved(row for row in counted if row.repeat == number) for number in range(repeats)),
        methods={each.key: found for each in counting if (found := each.count(played)) is not None},
        claims=count_claims([row.claim for row in counted]),
        matches=count_matches(counted),
        milestones=reached,
        unlock_score=unlocked(reached, known),
        measures=measures(counted),
        intervals={kind: solved_interval(each) for kind, each in {**of_type, ALL: counted}.items()},
        unplayed_by_type={kind: counts for kind, each in of_type.items() if any(counts := _unplayed(each))},
        seconds=round(seconds, 3),
        run=run,
        broken_messages={row.entry.task.id: row.ending.message for row in counted if row.outcome is Outcome.BROKEN},
        unjudged_messages={row.entry.task.id: row.ending.message for row in counted if row.ending.cause == NOT_JUDGED},
    )


def solved_interval(rows: Iterable[Result]) -> tuple[float, float]:
    """Return the 95 % interval of the share solved; several episodes of one task are not independent."""
    return wilson_over(by_task(rows))


def by_task(rows: Iterable[Result]) -> list[list[bool]]:
    """Return the successes of each task."""
    found = defaultdict[tuple[str, str, int], list[bool]](list)
    for row in rows:
        task = row.entry.task
        found[task.env, task.id, task.seed].append(row.solved)
    return list(found.values())


def _costs(spent: Spent) -> dict[str, Any]:
    return {
        "model_calls": spent.calls,
        "replayed_calls": spent.replayed,
        "reworded_replies": spent.reworded,
        "shortened_prompts": spent.shortened,
        "stopped_replies": spent.stopped,
        "tokens": spent.tokens,
        "prompt_tokens": spent.prompt,
        "completion_tokens": spent.completion,
        "money": spent.money,
    }


def mean_actions(rows: Iterable[Result]) -> float | None:
    """Return the mean number of actions over all episodes that were played, solved or not."""
    return mean_of(row.ending.actions for row in rows if row.outcome is not Outcome.NOT_RUN)


def mean_errors(rows: Iterable[Result]) -> float | None:
    """Return the mean number of cells that ended in an error, over the episodes played (AutoManual, table 3)."""
    return mean_of(row.ending.error_steps for row in rows if row.outcome is not Outcome.NOT_RUN)


def _solved(rows: Iterable[Result]) -> int:
    return sum(row.solved for row in rows)


def _unplayed(rows: Iterable[Result]) -> tuple[int, int]:
    outcomes = Counter(row.outcome for row in rows)
    return outcomes[Outcome.BROKEN], outcomes[Outcome.NOT_RUN]
