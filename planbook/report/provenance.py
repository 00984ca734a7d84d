"""What a run was made of, and where it comes from, as a page tells it."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from planbook.report.tables import settings
from planbook.results import RunResults
from planbook.run import CODE, Imported
from planbook.store import Schema

NOT_INSTALLED = "not installed"
DIGESTS: Mapping[str, str] = {
    "data": "Data that the tasks were played on",
    "prompts": "Prompts",
    "knowledge": "What was known beforehand",
    "models": "Recordings and scripts that answered",
    "prices": "Prices",
}
"""Parts of what a run was begun with, each a digest (SHA-256) by the name of what it is of, and their headings."""
SEEDS = 20
"""Seeds of tasks that are listed."""

Rows = Sequence[tuple[str, str]]


@dataclass(frozen=True)
class Provenance:
    """``digests`` are by heading; ``changed`` has the moments at which the run was gone on with on something else."""

    lead: str
    rerun_of: str
    imported: Imported | None
    origins: Sequence[tuple[int, Rows]]
    """Of an imported run: so many episodes, and the run that they were exported from."""
    kept: str
    """The database that has the events, where they are not in the folder."""
    changed: Sequence[tuple[float, Sequence[str]]]
    versions: Rows
    not_installed: Sequence[str]
    world: Rows
    """What the world said that it was, when it was played."""
    seeds: Rows
    digests: Mapping[str, Rows]


def provenance(run: RunResults) -> Provenance:
    """Read from run.json and from what was noted whenever somebody went on with the run."""
    opened, made_of = run.run, run.run.made_of
    there = {name: version for name, version in opened.versions.items() if version != NOT_INSTALLED}
    parts = {heading: dict(getattr(made_of, part)) for part, heading in DIGESTS.items()} if made_of else {}
    place = opened.store.place
    return Provenance(
        lead=f"planbook {there.get('planbook', '')}, {there.get(CODE, 'its code not noted')}",
        rerun_of=opened.rerun_of,
        imported=opened.imported,
        origins=_origins(opened.imported),
        kept=str(place) if isinstance(place, Schema) else "",
        changed=_changed(run),
        versions=sorted((name, version) for name, version in there.items() if name not in ("planbook", CODE)),
        not_installed=sorted(opened.versions.keys() - there.keys()),
        world=list(settings(run.versions)),
        seeds=_seeds(run),
        digests={heading: sorted(found.items()) for heading, found in parts.items() if found},
    )


def _origins(imported: Imported | None) -> list[tuple[int, Rows]]:
    """What the files say of the runs that their episodes come from."""
    return [(each.episodes, list(settings(each.facts))) for each in imported.origins] if imported else []


def _changed(run: RunResults) -> list[tuple[float, Sequence[str]]]:
    sittings: list[tuple[float, Any]] = [(event.at, event.body) for event in run.outside if event.kind == "sitting"]
    return [(at, body["changed"]) for at, body in sittings if body.get("changed")]


def _seeds(run: RunResults) -> list[tuple[str, str]]:
    config, made_of = run.run.config, run.run.made_of
    tasks = sorted({played.entry.task.seed for played in run.episodes.values() if played.entry.task.seed is not None})
    more = f" and {len(tasks) - SEEDS} more" if len(tasks) > SEEDS else ""
    told = ", ".join(map(str, tasks[:SEEDS])) + more
    sent = {name: seed for name, seed in (made_of.seeds if made_of else {}).items() if name != "run"}
    rows = [
        ("run", str(config.seed)),
        *((name, "none is sent" if seed is None else str(seed)) for name, seed in sent.items()),
    ]
    return [*rows, *([("tasks", told)] if told else []), ("repeats of each task", str(config.repeats))]
