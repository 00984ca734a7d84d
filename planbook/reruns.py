"""Compare a run with a run that repeats it: which episodes are the same, and where the other episodes diverge."""

from collections.abc import Iterable, Iterator

from planbook.divergence import Comparison, Sameness, course_of, first_difference
from planbook.knowledge import learned_in
from planbook.planner import Ending, Outcome, Step, Trajectory, format_call, read_trajectory
from planbook.runs import Entry, Fork, Run, last_path, recorded_endings
from planbook.store import Events


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
        old, new = _numbered(actions_taken(first, entry, planned)), _numbered(actions_taken(*repetition[:2]))
    else:
        old, new = _course(*original[:2]), _course(*repetition[:2])
    return first_difference(old, new).with_endings(before, after)


def _course(run: Run, entry: Entry) -> Events:
    path = last_path(run, entry)
    return course_of(run.journal(path).events, path)


def _numbered(actions: Iterable[str]) -> Events:
    return {("", "action", number): line for number, line in enumerate(actions)}


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
