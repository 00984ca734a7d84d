"""Digests of what a run is told beforehand: its library, its start, and demonstrations."""

from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

from planbook.config import Config
from planbook.envs import file_digest, folder_digest, texts_digest
from planbook.knowledge import PROCEDURES, learnt_in, start_of, with_manual
from planbook.manuals import SHIPPED, usual_starts
from planbook.manuals.demonstrations import FOLDER
from planbook.planner import method
from planbook.run import Run, is_run

CODE = ("procedures", "helpers")
TEXTS = ("rules.json", "manual.md", "skills.json", "reflections.json", "example.md")
"""What a library's folder of a world may hold; see ``planbook.manuals.knowledge``."""


def knowledge_digests(config: Config) -> dict[str, str]:
    """Part to digest; what is not there has none. Raises BadStart, BadRun."""
    found = _of_library(config)
    names = _starts(config)
    if names:
        found["start"] = texts_digest([start_of(config, names).model_dump_json()])
    return found | _of_demonstrations(config)


def _of_library(config: Config) -> dict[str, str]:
    folder = config.library_folder
    if is_run(folder):
        return _of_building_run(config, folder)
    home = folder / config.world.name
    found = {name: folder_digest(home / name, ("*.py",)) for name in CODE if (home / name).is_dir()}
    if config.planner == PROCEDURES:
        return found
    return found | {name: file_digest(home / name) for name in TEXTS if (home / name).is_file()}


def _of_building_run(config: Config, folder: Path) -> dict[str, str]:
    """What the run had learnt, as far as it is used; it may have learnt more since."""
    with closing(Run.open(folder)) as run:
        if run.config.learning is None:
            return {}
        states = learnt_in(run, config.after)
        told = {group: with_manual(run, group, state) for group, state in states.items()}
        return {f"learnt ({group})": texts_digest([known.model_dump_json()]) for group, known in told.items()}


def _starts(config: Config) -> tuple[str, ...]:
    """The starts that the run may be told of: those that it names, else the usual ones."""
    if config.learning is not None:
        return config.learning.start
    return usual_starts(config.world.name, config.selection.split or "") if method(config.planner).roles else ()


def _of_demonstrations(config: Config) -> dict[str, str]:
    libraries = dict.fromkeys([config.library_folder, SHIPPED])
    folders = [library / config.world.name / FOLDER for library in libraries]
    found = {name: list(_shown(folders, name)) for name in method(config.planner).demonstrations}
    return {f"demonstration {name}": texts_digest(digests) for name, digests in found.items() if digests}


def _shown(folders: Iterable[Path], name: str) -> Iterable[str]:
    """Names and digests of the files that may be shown under a name, in the order in which they are looked for."""
    for folder in folders:
        for path in (*sorted((folder / name).glob("*.md")), folder / f"{name}.md"):
            if path.is_file():
                yield from (path.name, file_digest(path))
