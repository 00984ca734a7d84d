"""Replay a run: play its episodes again with the recorded replies, and compare each with its recording.

Nothing is written.
"""

import queue
from collections.abc import Callable
from contextlib import suppress

from planbook.divergence import Comparison, Sameness, course_of, first_difference
from planbook.envs import EnvsError, MissingRequirement
from planbook.planner import Ending, EpisodeStopped, MemoryJournal, ModelError, Roles, play
from planbook.runs import Entry, Run, last_path, recorded_endings
from planbook.sandbox import Sandbox
from planbook.workers import EpisodeWorker, Execution, ReplyRepeater, Switches, in_threads, replies_by_place

OnComparison = Callable[[Entry, Comparison], None]


def replay_run(run: Run, on_comparison: OnComparison, execution: Execution) -> bool:
    """Play every episode again, in threads, and compare it with its recording. Return False if Ctrl-C stopped this."""
    entries, endings, switches = run.entries(), recorded_endings(run), Switches()
    waiting: queue.SimpleQueue[Entry] = queue.SimpleQueue()
    compared: queue.SimpleQueue[tuple[Entry, Comparison]] = queue.SimpleQueue()
    for entry in entries:
        waiting.put(entry)

    def replay_waiting(notify: Callable[[], None]) -> None:
        with EpisodeWorker(run.config, sandbox, switches.guard) as worker, suppress(queue.Empty):
            while True:
                if switches.stopped:
                    raise EpisodeStopped
                entry = waiting.get_nowait()
                compared.put((entry, replay_episode(run, entry, worker, endings.get(entry.index))))
                notify()

    def report() -> None:
        while not compared.empty():
            on_comparison(*compared.get())

    count = min(execution.jobs if run.config.environment.parallel else 1, len(entries))
    with Sandbox(modules=run.config.environment.modules, unsafe_no_sandbox=execution.unsafe_no_sandbox) as sandbox:
        return in_threads(count, replay_waiting, switches.stop, report)


def replay_episode(run: Run, entry: Entry, worker: EpisodeWorker, then: Ending | None) -> Comparison:
    """Play an episode again, and compare it with its recording. ``then`` is the recorded ending.

    The models give their recorded replies, whatever they are asked, and the planner recalls the recorded knowledge.
    """
    if then is None or not then.outcome.played:
        return Comparison(sameness=Sameness.NOT_COMPARED)
    path = last_path(run, entry)
    recorded, journal = run.journal(path).events, MemoryJournal()
    journal.events |= {key: body for key, body in recorded.items() if key[1] == "recall"}
    model = ReplyRepeater(replies_by_place(path, recorded))
    worker.roles = Roles(lambda role: model, run.config.sampling, guard=worker.guard)
    now, unknown = None, ""
    try:
        now = play(*worker.play_arguments(entry, path, journal))
    except MissingRequirement:
        raise
    except ModelError as error:
        unknown = f"unknown: {error}"
    except EnvsError as error:
        environment = {"event": "the environment", "expected": "it can play the task", "actual": str(error)}
        return Comparison(sameness=Sameness.NOT_COMPARED, **environment)
    if now is None or not now.outcome.played:
        worker.drop_environment()
    ids = run.config.environment.object_ids
    comparison = first_difference(course_of(recorded, path), course_of(journal.events, path), ids)
    return comparison.with_endings(then, now) if now else comparison.model_copy(update={"now": unknown})
