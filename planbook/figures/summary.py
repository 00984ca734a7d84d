"""What a run comes to: counted over every task it was asked to play."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from statistics import fmean, stdev
from typing import Any

from pydantic import BaseModel, Field, SerializeAsAny, SerializerFunctionWrapHandler, model_serializer

from planbook.figures.claims import Claims, claims
from planbook.figures.measures import Measure, measures
from planbook.figures.milestones import milestones, unlocked
from planbook.figures.plays import Plays
from planbook.outcomes import TYPE_SOLVED
from planbook.planner import Ending, Outcome, Spent
from planbook.planner.ending import NOT_JUDGED
from planbook.planner.strategies import FIGURES, Figures
from planbook.planner.strategies.figures import mean_of
from planbook.run import Entry

"""The cause of an episode that was left out of building, since its type had been solved often enough."""
NONE: Mapping[str, int] = {}
NOT_PLAYED = Ending(outcome=Outcome.NOT_RUN, cause=Outcome.NOT_RUN.value)


class Summary(BaseModel):
    """The object that ends the standard output of ``--json``. ``by_type`` maps a type to [solved, tasks]."""

    tasks: int
    solved: int
    by_type: dict[str, tuple[int, int]]
    mean_score: float = 0.0
    """The world's score, from 0 to 1, over all tasks; of one that was not played it is 0."""
    failures: dict[str, int]
    left_out: int = 0
    """Building tasks that were left out, since their type had been solved often enough."""
    unjudgeable: dict[str, int] = Field(default_factory=dict)
    """Tasks that fit the selection and were not played, as nothing here can judge them: how many, by reason."""
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
    methods: dict[str, SerializeAsAny[Figures]] = Field(default_factory=dict)
    """What the method counts of its own, by name; in JSON each has its own key, null for what it does not count."""
    claims: Claims | None = None
    """What was claimed of whole tasks, against the verdict; None where nobody claims anything."""
    milestones: dict[str, dict[str, tuple[int, int]]] = Field(default_factory=dict)
    """By a task type whose tasks all ask for the same: each thing reached on the way, with [episodes, of how many]."""
    unlock_score: float | None = None
    """Crafter's score, in percent, of a world that says all that can be reached."""
    measures: dict[str, dict[str, Measure]] = Field(default_factory=dict)
    """By task type (``all``, where there are several): what the world measures beside success."""
    unplayed_by_type: dict[str, tuple[int, int]] = Field(default_factory=dict)
    """[broken, not run] of the task types that have such episodes; they count as not solved."""
    seconds: float
    """Of the sitting that ends with this; in a report from the first event of the run to the last, pauses included."""
    run: str
    broken_messages: dict[str, str] = Field(default_factory=dict)
    """Task id to what went wrong, for the episodes that failed through no fault of a plan."""
    unjudged_messages: dict[str, str] = Field(default_factory=dict)
    """Task id to what it came to, for those that the world does not judge; they do not count as solved."""

    @model_serializer(mode="wrap")
    def _with_methods(self, plain: SerializerFunctionWrapHandler) -> dict[str, Any]:
        found: dict[str, Any] = plain(self)
        none = dict.fromkeys(figures.key for figures in FIGURES)
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
        share = [count * self.repeats / self.tasks for count in self.solved_by_repeat]
        return stdev(share) if len(share) > 1 else None


def summarise(
    entries: Sequence[Entry],
    endings: Mapping[int, Ending],
    seconds: float,
    run: str,
    spent: Spent | None = None,
    plays: Plays | None = None,
    known: Sequence[str] = (),
    unjudgeable: Mapping[str, int] = NONE,
    figures: Sequence[type[Figures]] = FIGURES,
) -> Summary:
    """Count the endings of a run; an episode without one counts as NOT_RUN. Those left out on purpose do not count.

    ``known`` are all the milestones that the world can tell, where they are the same for every task; ``unjudgeable``
    are the tasks that were never played, by reason; ``figures`` what the method counts of its own.
    """
    spent, plays = spent or Spent(), plays or Plays()
    all_entries = [(entry, endings.get(entry.index, NOT_PLAYED)) for entry in entries]
    ended = [(entry, ending) for entry, ending in all_entries if ending.cause != TYPE_SOLVED]
    types = sorted({entry.task.type for entry in entries})
    of_type = {kind: [ending for entry, ending in ended if entry.task.type == kind] for kind in types}
    reached = milestones(ended, known)
    played = [plays.played(entry, ending) for entry, ending in ended]
    repeats = 1 + max((entry.repeat for entry in entries), default=0)
    return Summary(
        tasks=len(ended),
        solved=_solved(ending for _, ending in ended),
        by_type={kind: (_solved(endings), len(endings)) for kind, endings in of_type.items()},
        mean_score=round(fmean([ending.verdict.score for _, ending in ended] or [0.0]), 4),
        failures=dict(Counter(ending.cause for _, ending in ended if not ending.outcome.solved).most_common()),
        mean_actions=_mean_actions(ending for _, ending in ended),
        mean_actions_by_type={kind: _mean_actions(endings) for kind, endings in of_type.items()},
        mean_error_steps=_mean_errors(ending for _, ending in ended),
        mean_error_steps_by_type={kind: _mean_errors(endings) for kind, endings in of_type.items()},
        model_calls=spent.calls,
        replayed_calls=spent.replayed,
        reworded_replies=spent.reworded,
        shortened_prompts=spent.shortened,
        stopped_replies=spent.stopped,
        tokens=spent.tokens,
        prompt_tokens=spent.prompt,
        completion_tokens=spent.completion,
        money=spent.money,
        left_out=len(all_entries) - len(ended),
        unjudgeable=dict(unjudgeable),
        repeats=repeats,
        solved_by_repeat=tuple(_solved(e for entry, e in ended if entry.repeat == number) for number in range(repeats)),
        methods={each.key: counted for each in figures if (counted := each.count(played)) is not None},
        claims=claims(plays, ended),
        milestones=reached,
        unlock_score=unlocked(reached, known),
        measures=measures(ended),
        unplayed_by_type={kind: counts for kind, each in of_type.items() if any(counts := _unplayed(each))},
        seconds=round(seconds, 3),
        run=run,
        broken_messages={entry.task.id: e.message for entry, e in ended if e.outcome is Outcome.BROKEN},
        unjudged_messages={entry.task.id: e.message for entry, e in ended if e.cause == NOT_JUDGED},
    )


def _solved(endings: Iterable[Ending]) -> int:
    return sum(ending.outcome.solved for ending in endings)


def _unplayed(endings: Iterable[Ending]) -> tuple[int, int]:
    outcomes = Counter(ending.outcome for ending in endings)
    return outcomes[Outcome.BROKEN], outcomes[Outcome.NOT_RUN]


def _mean_actions(endings: Iterable[Ending]) -> float | None:
    """The mean over all episodes that were played, solved or not."""
    return mean_of(ending.actions for ending in endings if ending.outcome is not Outcome.NOT_RUN)


def _mean_errors(endings: Iterable[Ending]) -> float | None:
    """The mean number of cells that ended in an error, over all episodes that were played (AutoManual, table 3)."""
    return mean_of(ending.error_steps for ending in endings if ending.outcome is not Outcome.NOT_RUN)
