"""The endings of a run's episodes, and episodes that are played again because they ended BROKEN."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from planbook.errors import BadArgument
from planbook.outcomes import outcome_of, why
from planbook.planner import Ending, Outcome
from planbook.runs.file import Entry, index_of
from planbook.runs.run import Run
from planbook.store import without_restart

DIVERGED = "diverged"
"""The cause of an ending that does not count: the record could not be repeated, so the episode was started over."""
AGAIN = "again"
"""Key of an invocation that plays episodes again; its value is the scopes of the endings that no longer count."""


def set_aside(run: Run) -> frozenset[str]:
    """Return the scopes of endings that do not count, because a later invocation plays these episodes again."""
    invocations: Iterable[Any] = run.invocations
    return frozenset(path for body in invocations for path in body.get(AGAIN, ()))


def recorded_endings(run: Run) -> dict[int, Ending]:
    """Return the endings in a run's store, by index; of an episode that was started over, the last one."""
    endings: dict[int, Ending] = {}
    aside = set_aside(run)
    for row in run.store.events("task", "outcome"):
        ending = Ending.model_validate(row.body)
        if ending.cause != DIVERGED and row.scope not in aside:
            endings[index_of(row.scope)] = ending
    return endings


def last_path(run: Run, entry: Entry) -> str:
    """Return the scope of an episode's last start."""
    scopes = [row.scope for row in run.store.events(entry.path, "outcome")]
    return scopes[-1]


def broken_paths(run: Run) -> list[str]:
    """Return the scopes of the BROKEN endings, which are to be set aside. Raises BadArgument for a building run."""
    if run.config.learning is not None:
        raise BadArgument(
            f"{run.folder} is a building run: what was learned since depends on how these episodes ended; "
            "build again in another folder"
        )
    broken = {index for index, ending in recorded_endings(run).items() if ending.outcome is Outcome.BROKEN}
    return [last_path(run, entry) for entry in run.entries() if entry.index in broken]


def again_lines(run: Run) -> Iterator[str]:
    """Yield a line for each episode that was played again: its outcomes before and now."""
    aside = set_aside(run)
    if not aside:
        return
    endings, tasks = recorded_endings(run), {entry.path: entry for entry in run.entries()}
    for path in sorted(aside):
        entry = tasks[without_restart(path)]
        now = endings.get(entry.index)
        became = "not played yet" if now is None else _told(now)
        then = ", ".join(map(_told, _endings_at(run, path)))
        yield f"Played again: {entry.task.id}, which was {then}; now {became}."


def _endings_at(run: Run, path: str) -> Sequence[Ending]:
    return [Ending.model_validate(row.body) for row in run.store.events(path, "outcome") if row.scope == path]


def _told(ending: Ending) -> str:
    return outcome_of(ending) + why(ending)
