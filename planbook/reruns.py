"""Compare a run with a run that repeats it: which episodes are the same, and where the other episodes diverge."""

from collections.abc import Iterable, Iterator
from typing import Any

from planbook.knowledge import learned_in
from planbook.planner import Ending, JournalMismatch, Outcome, Step, Trajectory, format_call, read_trajectory
from planbook.replay import Comparison, Sameness, compared_part, describe_mismatch, endings_in_words
from planbook.runs import Entry, Fork, Run, last_path, recorded_endings
from planbook.store import RESTART

EventKey = tuple[str, str, int]
"""Identifies an event of an episode: its scope below the episode's scope, its kind, and its number."""


def repeated_episodes(first: Run, second: Run) -> Iterator[tuple[Entry, Comparison]]:
    """Compare each episode of the run ``first`` with its repetition in the run ``second``, in order.

    If ``second`` is a fork, only one episode is compared, because a fork repeats only one.
    """
    before, after = recorded_endings(first), recorded_endings(second)
    is_fork = second.forked is not None and second.forked != first.forked
    repeated = [first.entries()[second.forked.episode]] if second.forked and is_fork else first.entries()
    for old, new in zip(repeated, second.entries(), strict=True):
        yield old, _compare((first, old, before.get(old.index)), (second, new, after.get(new.index)))


def learned_the_same(first: Run, second: Run) -> bool:
    """Return True if two runs of `planbook build` ended with the same knowledge."""
    knowledge = [{group: state.knowledge for group, state in learned_in(run).items()} for run in (first, second)]
    return knowledge[0] == knowledge[1]


PlayedEpisode = tuple[Run, Entry, Ending | None]
"""The run of an episode, its entry there, and its ending, which is None if the episode has not ended."""


def _compare(original: PlayedEpisode, repetition: PlayedEpisode) -> Comparison:
    (first, entry, before), (second, _, after) = original, repetition
    if before is None or after is None or before.outcome is Outcome.BROKEN:
        return Comparison(sameness=Sameness.NOT_COMPARED)
    if second.forked:
        planned = second.forked if second.config.planner != first.config.planner else None
        actions = actions_taken(first, entry, planned), actions_taken(*repetition[:2])
        comparison = first_difference(*map(_numbered, actions))
    else:
        comparison = first_difference(_events(*original[:2]), _events(*repetition[:2]))
    if (before.outcome, before.cause) == (after.outcome, after.cause):
        return comparison
    return comparison.model_copy(update={"sameness": Sameness.DIFFERENT, **endings_in_words(before, after)})


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


def first_difference(first: dict[EventKey, Any], second: dict[EventKey, Any]) -> Comparison:
    """Return a comparison that describes the first event that differs, with both versions of it."""
    for key in dict.fromkeys([*first, *second]):
        old, new = first.get(key), second.get(key)
        if old != new:
            return _describe(*key, old, new)
    return Comparison(sameness=Sameness.SAME)


def _describe(scope: str, kind: str, number: int, old: Any, new: Any) -> Comparison:
    if kind == "ask" and old and new:
        part, label = ("reply", "the reply to") if old["prompt"] == new["prompt"] else ("prompt", "the prompt of")
        event = f"{label} question {number + 1} to the {new['role']} ({new['template']})"
        return Comparison(sameness=Sameness.DIFFERENT, event=event, expected=old[part], actual=new[part])
    comparison = describe_mismatch(JournalMismatch(scope, kind, number, old, new))
    event = f"{comparison.event} of {scope.lstrip('/')}" if scope else comparison.event
    return comparison.model_copy(update={"event": event})
