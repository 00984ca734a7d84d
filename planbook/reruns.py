"""Compare a run with a run that repeats it: which episodes are the same, and where the other episodes diverge."""

from collections.abc import Iterable, Iterator

from planbook.divergence import Comparison, Sameness, compared_events, first_difference
from planbook.knowledge import find_learned_state
from planbook.planner import Outcome, Step, Trajectory, format_call
from planbook.runs import EpisodeEntry, Fork, Run, last_attempt, last_scope, recorded_endings
from planbook.store import Events


def compare_episodes(original: Run, repetition: Run) -> Iterator[tuple[EpisodeEntry, Comparison]]:
    """Yield each episode of the original run with its comparison, in order.

    If the repetition is a fork, only one episode is compared, because a fork repeats only one.
    """
    old_endings, new_endings = recorded_endings(original), recorded_endings(repetition)
    fork = repetition.forked if repetition.forked != original.forked else None
    repeated = [original.entries()[fork.episode]] if fork else original.entries()
    for old, new in zip(repeated, repetition.entries(), strict=True):
        old_ending, new_ending = old_endings.get(old.index), new_endings.get(new.index)
        if old_ending is None or new_ending is None or old_ending.outcome is Outcome.BROKEN:
            yield old, Comparison(sameness=Sameness.NOT_COMPARED)
        else:
            comparison = _first_difference(original, old, repetition, new)
            yield old, comparison.with_endings(old_ending, new_ending)


def have_same_knowledge(first: Run, second: Run) -> bool:
    """Return True if two runs of `planbook build` ended with the same knowledge."""
    first_state, second_state = find_learned_state(first), find_learned_state(second)
    return (first_state and first_state.knowledge) == (second_state and second_state.knowledge)


def _first_difference(original: Run, old: EpisodeEntry, repetition: Run, new: EpisodeEntry) -> Comparison:
    """Compare the events of two episodes or, if the repetition is a fork, only the actions."""
    if not repetition.forked:
        return first_difference(_compared_events(original, old), _compared_events(repetition, new))
    fork_with_plan = repetition.forked if repetition.config.planner != original.config.planner else None
    old_actions, new_actions = actions_taken(original, old, fork_with_plan), actions_taken(repetition, new)
    return first_difference(_as_events(old_actions), _as_events(new_actions))


def _compared_events(run: Run, entry: EpisodeEntry) -> Events:
    path = last_scope(run, entry)
    return compared_events(run.journal(path).events, path)


def _as_events(actions: Iterable[str]) -> Events:
    return {("", "action", number): action for number, action in enumerate(actions)}


def kept_steps(episode: Trajectory, action_count: int) -> list[Step]:
    """Return the recorded steps that a fork repeats before it continues with a new plan.

    The fork begins after the first ``action_count`` actions of the episode. Of these, it repeats only those in the
    round in which it begins (a round is the part between two resets of the environment), except actions undone
    before it begins.
    """
    for round_ in episode.rounds:
        if action_count <= len(round_.steps):
            break
        action_count -= len(round_.steps)
    else:
        return []
    steps = list(round_.steps[:action_count])
    undone: set[int] = set()
    for rewind in round_.rewinds:
        taken_before = sum((step.order or 0) < rewind.order for step in steps)
        if action_count and rewind.order < (steps[-1].order or 0):
            undone |= set(range(rewind.kept, taken_before))
    return [step for number, step in enumerate(steps) if number not in undone]


def actions_taken(run: Run, entry: EpisodeEntry, fork_with_plan: Fork | None = None) -> list[str]:
    """Return the actions of an episode with their observations, regardless of the plan code that called them.

    If ``fork_with_plan`` is given, a fork that continues the episode with a new plan, leave out the actions before the
    fork that it does not repeat.
    """
    episode = last_attempt(run, entry)
    steps = [step for round_ in episode.rounds for step in round_.steps]
    if fork_with_plan:
        steps[: fork_with_plan.at] = kept_steps(episode, fork_with_plan.at)
    return [f"{format_call(step.action)} -> {step.observation.text}" for step in steps]
