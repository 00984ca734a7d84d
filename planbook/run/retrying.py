"""Playing episodes again that ended BROKEN, which says nothing of what played: the last ending counts."""

from collections.abc import Iterator, Sequence

from planbook.errors import BadArgument
from planbook.outcomes import outcome_of, why
from planbook.planner import Ending, Outcome
from planbook.run.endings import last_path, recorded_endings, set_aside
from planbook.run.run import Run
from planbook.store import without_restart


def broken_paths(run: Run) -> list[str]:
    """The scopes of the endings that are to be set aside. Raises BadArgument of a building run."""
    if run.config.learning is not None:
        raise BadArgument(
            f"{run.folder} is a building run: what was learnt since then built on the episodes as they ended; build "
            "anew in another folder"
        )
    broken = {index for index, ending in recorded_endings(run).items() if ending.outcome is Outcome.BROKEN}
    return [last_path(run, entry) for entry in run.entries() if entry.index in broken]


def again_lines(run: Run) -> Iterator[str]:
    """What became of the episodes that were played again, and what they had ended with before."""
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
