"""Compare a run with a run that repeats it: which episodes are the same, and where the other episodes diverge."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Any

from pydantic import BaseModel, ConfigDict

from planbook.knowledge import learned_in
from planbook.planner import Ending, JournalMismatch, Outcome, Step, Trajectory, format_call, read_trajectory
from planbook.replay import compared_part, describe_mismatch
from planbook.results.statistics import sign_flip_test
from planbook.runs import Entry, Fork, Run, last_path, recorded_endings
from planbook.store import RESTART
from planbook.wording import cause_of, outcome_of

EXCERPT_CHARACTERS = 160
"""Maximum number of characters in an excerpt of a text that differs from another text."""
CHARACTERS_BEFORE = 40
"""How many of these characters come before the first difference."""
EventKey = tuple[str, str, int]
"""Identifies an event of an episode: its scope below the episode's scope, its kind, and its number."""


class RepeatResult(StrEnum):
    """The result of comparing an episode with its repetition."""

    SAME = "the same"
    OTHER_WAY = "the same outcome another way"
    OTHER_OUTCOME = "another outcome"
    NOT_COMPARED = "not compared"
    """One of the two episodes has not ended, or the original one broke."""


class RepeatedEpisode(BaseModel):
    """An episode and its repetition.

    ``way`` tells whether they differ. ``before`` is the outcome of the episode, and ``after`` that of the repetition.
    If they diverge, ``event`` describes the first event that differs, ``expected`` is an excerpt of this event in the
    episode, and ``actual`` an excerpt of it in the repetition.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    task: str
    repeat: int
    way: RepeatResult
    before: str = ""
    after: str = ""
    solved_before: bool = False
    solved_after: bool = False
    event: str = ""
    expected: str = ""
    actual: str = ""

    def __str__(self) -> str:
        outcome = f": {self.before}, now {self.after}" if self.way is not RepeatResult.OTHER_WAY else f" ({self.after})"
        name = f"{self.task}, repeat {self.repeat}" if self.repeat else self.task
        texts = f"\n  then: {self.expected}\n  now:  {self.actual}"
        divergence = f"; they diverge at {self.event}{texts}" if self.event else ""
        return f"{name}: {self.way}{outcome}{divergence}"


class RerunTotals(BaseModel):
    """Counts of episodes. Those that were not compared are counted only in ``episodes`` and ``by_way``.

    ``gained`` counts the episodes that only the repetition solved, and ``lost`` those that only the original run
    solved. ``p`` is the p value of an exact test that swaps the two runs for each task. If there are no repeats of
    tasks, this is McNemar's test.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    episodes: int
    by_way: dict[str, int]
    solved_before: int
    solved_after: int
    gained: int
    lost: int
    p: float


def repeated_episodes(first: Run, second: Run) -> Iterator[RepeatedEpisode]:
    """Compare each episode of the run ``first`` with its repetition in the run ``second``, in order.

    If ``second`` is a fork, only one episode is compared, because a fork repeats only one.
    """
    before, after = recorded_endings(first), recorded_endings(second)
    is_fork = second.forked is not None and second.forked != first.forked
    repeated = [first.entries()[second.forked.episode]] if second.forked and is_fork else first.entries()
    for old, new in zip(repeated, second.entries(), strict=True):
        yield _compare((first, old, before.get(old.index)), (second, new, after.get(new.index)))


def totals(episodes: Iterable[RepeatedEpisode]) -> RerunTotals:
    """Count the episodes by the results of their comparison."""
    listed = list(episodes)
    counts = Counter(episode.way.value for episode in listed)
    compared = [episode for episode in listed if episode.way is not RepeatResult.NOT_COMPARED]
    pairs = [(episode.solved_before, episode.solved_after) for episode in compared]
    gains = defaultdict[str, int](int)
    for episode in compared:
        gains[episode.task] += episode.solved_after - episode.solved_before
    return RerunTotals(
        episodes=len(listed),
        by_way={way.value: counts[way.value] for way in RepeatResult},
        solved_before=sum(before for before, _ in pairs),
        solved_after=sum(after for _, after in pairs),
        gained=pairs.count((False, True)),
        lost=pairs.count((True, False)),
        p=sign_flip_test([*gains.values()]),
    )


def learned_the_same(first: Run, second: Run) -> bool:
    """Return True if two runs of `planbook build` ended with the same knowledge."""
    knowledge = [{group: state.knowledge for group, state in learned_in(run).items()} for run in (first, second)]
    return knowledge[0] == knowledge[1]


PlayedEpisode = tuple[Run, Entry, Ending | None]
"""The run of an episode, its entry there, and its ending, which is None if the episode has not ended."""


def _compare(original: PlayedEpisode, repetition: PlayedEpisode) -> RepeatedEpisode:
    (first, entry, before), (second, _, after) = original, repetition
    fields: dict[str, Any] = {
        "task": entry.task.id,
        "repeat": entry.repeat,
        "before": _in_words(before),
        "after": _in_words(after),
        "solved_before": before is not None and before.outcome.solved,
        "solved_after": after is not None and after.outcome.solved,
    }
    if before is None or after is None or before.outcome is Outcome.BROKEN:
        return RepeatedEpisode(**fields, way=RepeatResult.NOT_COMPARED)
    if second.forked:
        planned = second.forked if second.config.planner != first.config.planner else None
        actions = actions_taken(first, entry, planned), actions_taken(*repetition[:2])
        difference = first_difference(*map(_numbered, actions))
    else:
        difference = first_difference(_events(*original[:2]), _events(*repetition[:2]))
    differs = (before.outcome, before.cause) != (after.outcome, after.cause)
    if difference is None and not differs:
        return RepeatedEpisode(**fields, way=RepeatResult.SAME)
    event, expected, actual = difference or ("", "", "")
    way = RepeatResult.OTHER_OUTCOME if differs else RepeatResult.OTHER_WAY
    return RepeatedEpisode(**fields, way=way, event=event, expected=expected, actual=actual)


def _in_words(ending: Ending | None) -> str:
    if ending is None:
        return "not played"
    return outcome_of(ending) + (f" ({cause})" if (cause := cause_of(ending)) else "")


def _events(run: Run, entry: Entry) -> dict[EventKey, Any]:
    """Return the events of the last attempt at an episode, in the order in which they were written."""
    path = last_path(run, entry)
    rows = (row for row in run.store.events(path) if not row.scope.startswith(path + RESTART))
    return {(row.scope.removeprefix(path), row.kind, row.n): compared_part(row.kind, row.body) for row in rows}


def kept_steps(episode: Trajectory, action_count: int) -> list[Step]:
    """Return the recorded steps that a fork repeats before it continues with a new plan.

    The fork begins after the first ``action_count`` actions of the episode. Of these, it repeats only those in the
    round in which it begins (a round is the part between two resets of the environment), except actions that were
    already undone when the fork begins.
    """
    for played in episode.rounds:
        if action_count <= len(played.steps):
            break
        action_count -= len(played.steps)
    else:
        return []
    steps = list(played.steps[:action_count])
    undone: set[int] = set()
    for rewind in played.rewinds:
        taken = sum((step.order or 0) < rewind.order for step in steps)
        if action_count and rewind.order < (steps[-1].order or 0):
            undone |= set(range(rewind.kept, taken))
    return [step for number, step in enumerate(steps) if number not in undone]


def actions_taken(run: Run, entry: Entry, planned: Fork | None = None) -> list[str]:
    """Return the actions of an episode with their observations, regardless of the plan code that called them.

    If ``planned`` is given, it describes a fork of the episode that continues with a new plan. In that case,
    actions that come before the fork and are not repeated by it are left out.
    """
    path = last_path(run, entry)
    steps = [Step.model_validate(row.body) for row in run.store.events(path, "act")]
    if planned:
        steps[: planned.at] = kept_steps(read_trajectory(path, run.store.events(path), entry.task), planned.at)
    return [f"{format_call(step.action)} -> {step.observation.text}" for step in steps]


def _numbered(actions: Iterable[str]) -> dict[EventKey, Any]:
    return {("", "action", number): line for number, line in enumerate(actions)}


def first_difference(first: dict[EventKey, Any], second: dict[EventKey, Any]) -> tuple[str, str, str] | None:
    """Return a description of the first event that differs, and excerpts of both versions. Return None if none does."""
    for key in dict.fromkeys([*first, *second]):
        old, new = first.get(key), second.get(key)
        if old != new:
            return _describe(*key, old, new)
    return None


def _describe(scope: str, kind: str, number: int, old: Any, new: Any) -> tuple[str, str, str]:
    if kind == "ask" and old and new:
        part, label = ("reply", "the reply to") if old["prompt"] == new["prompt"] else ("prompt", "the prompt of")
        place = f"{label} question {number + 1} to the {new['role']} ({new['template']})"
        return place, *_excerpts(old[part], new[part])
    comparison = describe_mismatch(JournalMismatch(scope, kind, number, old, new))
    place = f"{comparison.event} of {scope.lstrip('/')}" if scope else comparison.event
    return place, *_excerpts(comparison.expected, comparison.actual)


def _excerpts(old: str, new: str) -> tuple[str, str]:
    """Return excerpts of both texts around their first difference, each on one line."""
    differing = (n for n, letters in enumerate(zip(old, new, strict=False)) if letters[0] != letters[1])
    position = next(differing, min(len(old), len(new)))
    return _excerpt(old, position), _excerpt(new, position)


def _excerpt(text: str, position: int) -> str:
    begin = max(0, position - CHARACTERS_BEFORE) if len(text) > EXCERPT_CHARACTERS else 0
    shown = text[begin : begin + EXCERPT_CHARACTERS]
    cut = f"{'... ' if begin else ''}{shown}{' ...' if begin + EXCERPT_CHARACTERS < len(text) else ''}"
    return " ".join(cut.split()) or "(nothing)"
