"""Before a run is gone on with: what has changed since, told, and refused where it would be mixed silently."""

from typing import Any

from planbook.console import ERRORS
from planbook.errors import BadRun
from planbook.knowledge import already
from planbook.learning import learning_path
from planbook.planner import Body, EventKind
from planbook.provenance.fingerprints import made_of
from planbook.run import InputChange, MadeOf, Run, changed_versions, changes, decisive, recorded_endings, versions
from planbook.workers import Hosting

MADE_OF = "made_of"
"""Stands in a sitting that was gone on with on other data, with what it was made of."""


def notice_changes(run: Run, hosting: Hosting, *, again: bool = False) -> Body:
    """Tell what has changed since the run was begun; what the sitting is to record of it.

    Raises BadRun where data, prompts or knowledge are others than those that were played with and something is left to
    play (or is to be played ``again``), unless that is allowed (``Hosting.allow_changed``), which then holds for later
    sittings too.
    """
    if run.is_new:
        return {}
    _refuse_other_release(run, again)
    now = made_of(run.config, [entry.task for entry in run.entries()], hosting.prices)
    others, newer = changes(run.made_of, now), changed_versions(run.versions, versions())
    if newer:
        ERRORS.print(f"This run was begun with other versions: {_listed(newer)}.", style="yellow", markup=False)
    if others:
        ERRORS.print(f"Since this run was begun: {_listed(others)}.", style="yellow", markup=False, soft_wrap=True)
    if (refused := decisive(changes(_last(run), now))) and not hosting.allow_changed and _mixes(run, again):
        raise BadRun(
            f"{run.folder} was played with what is another now ({_listed(refused)}), and what is played next would be "
            "mixed with it. Put back what it was; or repeat the run and see what comes out otherwise: `planbook rerun "
            f"{run.folder}`; or go on all the same: `planbook run --resume {run.folder} --allow-changed`"
        )
    found = [str(change) for change in (*newer, *others)]
    return {"changed": list(found), MADE_OF: now.model_dump(mode="json")} if found else {}


def _refuse_other_release(run: Run, again: bool) -> None:
    """Raise BadRun for a run of another release that is not over: plans do not run as they did."""
    then, now = run.versions.get("planbook", ""), versions()["planbook"]
    if _release(then) != _release(now) and _mixes(run, again):
        raise BadRun(
            f"{run.folder} was begun by planbook {then or 'of an unknown version'}, whose sandbox ran plans otherwise "
            f"than that of planbook {now}. Play it anew: `planbook rerun {run.folder}`; or go on with planbook {then}"
        )


def _release(version: str) -> list[str]:
    return version.split(".")[:2]


def _listed(found: list[InputChange]) -> str:
    return "; ".join(map(str, found))


def _mixes(run: Run, again: bool) -> bool:
    """Whether something was played and something is left."""
    kinds: tuple[EventKind, ...] = ("task", "learnt")
    begun = any(event.scope.startswith(("task/", "learn/")) for event in run.store.events(kind=kinds))
    return begun and (again or _left(run))


def _left(run: Run) -> bool:
    if run.config.learning is None:
        return len(recorded_endings(run)) < len(run.entries())
    return any(already(run, learning_path(entry)) is None for entry in run.entries())


def _last(run: Run) -> MadeOf | None:
    """What the run was made of when it was last gone on with, else when it was begun."""
    rows: Any = run.store.events("run", "sitting")
    told = [row.body[MADE_OF] for row in rows if MADE_OF in row.body]
    return MadeOf.model_validate(told[-1]) if told else run.made_of
