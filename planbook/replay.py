"""Replay a run: play its episodes again with the recorded replies, and compare each with its recording.

Nothing is written.
"""

from collections.abc import Callable

from planbook.divergence import Comparison, Sameness, compared_events, first_difference
from planbook.envs import EnvsError, MissingRequirement
from planbook.planner import NO_MODELS, Ending, MemoryJournal, ModelError, Roles, play
from planbook.runs import EpisodeEntry, Run, last_scope, recorded_endings
from planbook.workers import EpisodeWorker, Execution, ReplyRepeater, play_in_order, replies_by_place

OnComparison = Callable[[EpisodeEntry, Comparison], None]


def replay_run(run: Run, on_comparison: OnComparison, execution: Execution) -> bool:
    """Play every episode again, in threads, and compare it with its recording. Return False after Ctrl-C."""
    endings = recorded_endings(run)

    def compare(entry: EpisodeEntry, worker: EpisodeWorker) -> Comparison:
        return replay_episode(run, entry, worker, endings.get(entry.index))

    jobs = execution.jobs if run.config.environment.parallel else 1
    return play_in_order(run, compare, on_comparison, execution, jobs=jobs, roles=NO_MODELS)


def replay_episode(run: Run, entry: EpisodeEntry, worker: EpisodeWorker, original: Ending | None) -> Comparison:
    """Play an episode again, and compare it with its recording. ``original`` is the recorded ending.

    The models give their recorded replies, whatever they are asked, and the planner recalls the recorded knowledge.
    """
    if original is None or not original.outcome.played:
        return Comparison(sameness=Sameness.NOT_COMPARED)
    path = last_scope(run, entry)
    recorded, journal = run.journal(path).events, MemoryJournal()
    journal.events |= {key: body for key, body in recorded.items() if key[1] == "recall"}
    model = ReplyRepeater(replies_by_place(path, recorded))
    worker.roles = Roles(lambda role: model, run.config.sampling, guard=worker.guard)
    ending, unknown_ending = None, ""
    try:
        ending = play(*worker.play_arguments(entry, path, journal))
    except MissingRequirement:
        raise
    except ModelError as error:
        unknown_ending = f"unknown: {error}"
    except EnvsError as error:
        difference = {"event": "the environment", "expected": "it can play the task", "actual": str(error)}
        return Comparison(sameness=Sameness.NOT_COMPARED, **difference)
    if ending is None or not ending.outcome.played:
        worker.drop_environment()
    comparison = first_difference(compared_events(recorded, path), compared_events(journal.events, path))
    if ending is None:
        return comparison.model_copy(update={"now": unknown_ending})
    return comparison.with_endings(original, ending)
