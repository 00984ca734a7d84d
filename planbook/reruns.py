"""Compare a run with a run that repeats it: which episodes are the same, and where the other episodes diverge."""

from collections.abc import Iterable, Iterator

from planbook.divergence import Comparison, Sameness, compared_events, first_difference
from planbook.knowledge import learned_in
from planbook.planner import Outcome, Step, Trajectory, format_call
from planbook.runs import EpisodeEntry, Fork, Run, last_attempt, last_scope, recorded_endings
from planbook.store import Events


def repeated_episodes(first: Run, second: Run) -> Iterator[tuple[EpisodeEntry, Comparison]]:
    """Compare each episode of the run ``first`` with its repetition in the run ``second``, in order.

    If ``second`` is a fork, only one episode is compared, because a fork repeats only one.
    """
    before, after = recorded_endings(first), recorded_endings(second)
    is_fork = second.forked is not None and second.forked != first.forked
    repeated = [first.entries()[second.forked.episode]] if second.forked and is_fork else first.entries()
    for old, new in zip(repeated, second.entries(), strict=True):
        then, now = before.get(old.index), after.get(new.index)
        if then is None or now is None or then.outcome is Outcome.BROKEN:
            yield old, Comparison(sameness=Sameness.NOT_COMPARED)
        else:
            yield old, _first_difference(first, old, second, new).with_endings(then, now)


def learned_the_same(first: Run, second: Run) -> bool:
    """Return True if two runs of `planbook build` ended with the same knowledge."""
    before, after = (learned_in(run) for run in (first, second))
    return (before and before.knowledge) == (after and after.knowledge)


def _first_difference(first: Run, old: EpisodeEntry, second: Run, new: EpisodeEntry) -> Comparison:
    """Compare the events of two episodes or, if the second run is a fork, only the actions."""
    if not second.forked:
        return first_difference(_compared_events(first, old), _compared_events(second, new))
    planned = second.forked if second.config.planner != first.config.planner else None
    return first_difference(_numbered(actions_taken(first, old, planned)), _numbered(actions_taken(second, new)))


def _compared_events(run: Run, entry: EpisodeEntry) -> Events:
    path = last_scope(run, entry)
    return compared_events(run.journal(path).events, path)


def _numbered(actions: Iterable[str]) -> Events:
    return {("", "action", number): line for number, line in enumerate(actions)}


def kept_steps(episode: Trajectory, action_count: int) -> list[Step]:
    """Return the recorded steps that a fork repeats before it continues with a new plan.

    The fork begins after the first ``action_count`` actions of the episode. Of these, it repeats only those in the
    round in which it begins (a round is the part between two resets of the environment), except actions undone
    before it begins.
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


def actions_taken(run: Run, entry: EpisodeEntry, planned: Fork | None = None) -> list[str]:
    """Return the actions of an episode with their observations, regardless of the plan code that called them.

    ``planned`` describes a fork of the episode that continues with a new plan. If it is given, actions before the fork
    that the fork does not repeat are left out.
    """
    episode = last_attempt(run, entry)
    steps = [step for played in episode.rounds for step in played.steps]
    if planned:
        steps[: planned.at] = kept_steps(episode, planned.at)
    return [f"{format_call(step.action)} -> {step.observation.text}" for step in steps]
