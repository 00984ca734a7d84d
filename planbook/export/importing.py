"""`planbook import`: makes a run from files of episodes. Commands can read this run, but not play it.

The files have the formats that ``exporting`` describes, but may come from anyone. In each episode, each field must be
valid, the fields must not contradict each other, and the episode must not change when it is stored as events and read
back.
"""

import json
import os
import re
import shutil
from collections.abc import Iterator, Sequence
from contextlib import closing, suppress
from itertools import chain, groupby, islice
from pathlib import Path
from typing import Any, BinaryIO

from pydantic import ValidationError

from planbook.config import Config
from planbook.envs import file_digest, validation_faults
from planbook.errors import BadArgument, BadRun
from planbook.export.exporting import TRAJECTORY, BadEpisode, import_arrow
from planbook.options import differing_parts
from planbook.planner import TRAJECTORY_SCHEMA, Trajectory, TrajectoryRow, read_trajectory, rows_of
from planbook.runs import RUNS, EpisodeEntry, Imported, ImportedFile, ImportOrigin, Run, new_folder
from planbook.store import Event

MAX_LISTED = 30
"""Maximum number of faults that are listed."""
BATCH = 5_000
"""Number of events to write in one transaction."""
SEVERAL = "several"
"""Recorded as the planner or environment of a run whose episodes have different ones."""


class _Files:
    """The files that have been read so far, with facts about their episodes, and all faults.

    ``facts`` holds, for each episode, facts about its original run.
    """

    def __init__(self) -> None:
        self.files: list[ImportedFile] = []
        self.facts: list[dict[str, Any]] = []
        self.environments: set[str] = set()
        self.solved = 0
        self.faults: list[str] = []
        self._locations: dict[tuple[str, str, str, int], str] = {}

    def read(self, path: Path) -> Iterator[Trajectory]:
        """Yield the episodes of a file. After the first fault in any file, episodes are only checked, not yielded."""
        first_episode, sha256 = len(self.facts), file_digest(path)
        is_empty = True
        for location, episode in read_episodes(path):
            is_empty = False
            if isinstance(episode, BadEpisode):
                self.faults += [f"{path}, {location}: {fault}" for fault in episode.faults]
                continue
            key = (episode.run.planner, episode.task.env, episode.task.id, episode.repeat)
            if first := self._locations.get(key):
                self.faults.append(
                    f"{path}, {location}: {episode.task.id}, repeat {episode.repeat}, by {episode.run.planner} is "
                    f"already in {first}; import each run into its own folder, or leave one of the two out"
                )
                continue
            self._locations[key] = f"{path}, {location}"
            self.facts.append(episode.run.model_dump(mode="json"))
            self.environments.add(episode.task.env)
            self.solved += episode.ending.outcome.solved
            if not self.faults:
                yield episode
        if is_empty:
            self.faults.append(f"{path}: the file has no episodes")
        self.files.append(ImportedFile(name=path.name, sha256=sha256, episodes=len(self.facts) - first_episode))

    @property
    def imported(self) -> Imported:
        """The part of run.json that describes the files."""
        origins = [ImportOrigin(episodes=len(list(group)), facts=facts) for facts, group in groupby(self.facts)]
        return Imported(files=tuple(self.files), origins=tuple(origins))

    def check(self) -> None:
        """Raise BadArgument if there are faults. The message lists them."""
        if self.faults:
            more = f"\n... and {len(self.faults) - MAX_LISTED} more" if len(self.faults) > MAX_LISTED else ""
            faults = "\n".join(self.faults[:MAX_LISTED])
            raise BadArgument(f"nothing was imported, because of these faults:\n{faults}{more}")


def import_files(paths: Sequence[Path], out: Path | None) -> dict[str, Any]:
    """Make a run from files of episodes in the folder ``out``, or by default in a new one, and return a summary.

    A temporary folder is filled while the files are read, and is renamed if they have no faults. Raises BadArgument if
    the files have faults, or BadRun if the folder is not empty or cannot be created.
    """
    if out is not None and out.exists() and (not out.is_dir() or any(out.iterdir())):
        raise BadRun(f"{out} already exists; name another folder with --out")
    target = (out or RUNS / "import").absolute()
    temporary = target.with_name(f".{target.name}.{os.getpid()}.new")
    try:
        files, config = _fill(temporary, paths)
        folder = out or new_folder(config, name="import")
        temporary.replace(folder)
    except OSError as error:
        raise BadRun(f"{target} cannot be created: {error.strerror}; name another folder with --out") from error
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return {
        "episodes": len(files.facts),
        "solved": files.solved,
        "planners": sorted({facts["planner"] for facts in files.facts}),
        "worlds": sorted(files.environments),
        "run": str(folder),
    }


def _fill(folder: Path, paths: Sequence[Path]) -> tuple[_Files, Config]:
    """Make a run in a folder from the episodes of files. Raises BadArgument if the files have faults."""
    files, rows = _Files(), list[TrajectoryRow]()
    with closing(Run.create(folder, Config(planner=SEVERAL, env=SEVERAL, actions=0), [])) as run:
        for index, trajectory in enumerate(chain.from_iterable(map(files.read, paths))):
            entry = EpisodeEntry(index=index, task=trajectory.task, repeat=trajectory.repeat)
            rows += [("run", "task", index, entry.model_dump(mode="json")), *rows_of(trajectory, entry.path)]
            if len(rows) >= BATCH:
                run.store.put_all(rows)
                rows.clear()
        files.check()
        run.store.put_all(rows)
        config = imported_config(files.imported, files.environments)
        run.mark_imported(files.imported, config)
    return files, config


def imported_config(imported: Imported, environments: set[str]) -> Config:
    """Return the configuration of the imported run.

    If all original runs have the same configuration, and this version of planbook accepts it, return it without the
    settings for learning, since what was learned is not exported. Otherwise, set only the planner and the environment.
    """
    facts = [origin.facts for origin in imported.origins]
    planners = {str(fact["planner"]) for fact in facts}
    config = facts[0]["config"]
    if isinstance(config, dict) and all(fact["config"] == config for fact in facts):
        with suppress(ValidationError):  # the configuration may come from another program or version
            return Config.model_validate({**config, "learning": None})
    return Config(planner=_single(planners), env=_single(environments), actions=0)


def _single(names: set[str]) -> str:
    return names.copy().pop() if len(names) == 1 else SEVERAL


MAX_EPISODE_BYTES = 64 * 1024 * 1024
"""Maximum size of an episode. A typical episode of 50 actions has about 100,000 bytes, including its prompts."""
PARQUET_MAGIC = b"PAR1"
"""The first bytes of a Parquet file."""
ROWS_READ = 8
"""Number of rows of a Parquet file to read at a time."""
LocatedEpisode = tuple[str, Trajectory | BadEpisode]
"""An episode, or its faults, after its location in the file."""


def read_episodes(path: Path) -> Iterator[LocatedEpisode]:
    """Yield the location of every episode in a file, with the episode or, if it is not valid, its faults.

    Raises BadArgument if the file cannot be read.
    """
    try:
        with path.open("rb") as file:
            is_parquet = file.read(len(PARQUET_MAGIC)) == PARQUET_MAGIC
        yield from read_rows(path) if is_parquet else read_lines(path)
    except BadEpisode as bad:
        yield "the file", bad
    except OSError as error:
        raise BadArgument(f"{path} cannot be read: {error.strerror or error}") from error


def read_lines(path: Path) -> Iterator[LocatedEpisode]:
    """Yield every episode of a file in JSON Lines. Raises OSError if the file cannot be read."""
    with path.open("rb") as file:
        for number, line in enumerate(_lines_of(file), 1):
            if line.strip():
                yield f"line {number}", _parse_or_fault(line)


def _lines_of(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines of a file. Cut lines that are too long for an episode, since they could fill the memory."""
    while line := file.readline(MAX_EPISODE_BYTES + 1):
        part = line
        while len(part) > MAX_EPISODE_BYTES and not part.endswith(b"\n"):
            part = file.readline(MAX_EPISODE_BYTES + 1)
        yield line


def _parse_or_fault(line: str | bytes) -> Trajectory | BadEpisode:
    if len(line) > MAX_EPISODE_BYTES:
        return BadEpisode(f"longer than {MAX_EPISODE_BYTES:,} bytes, the limit for an episode")
    try:
        return parse_episode(line.strip())
    except BadEpisode as bad:
        return bad


def read_rows(path: Path) -> Iterator[LocatedEpisode]:
    """Yield every episode of a Parquet file.

    Raises OSError if the file cannot be read, or BadEpisode if it is not a valid Parquet file.
    """
    arrow, parquet = import_arrow()
    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            _check_size(file.metadata)
            for batch in file.iter_batches(batch_size=ROWS_READ):
                for row in batch.to_pylist():
                    number += 1
                    line = row.get(TRAJECTORY)
                    yield f"row {number}", _parse_or_fault(line) if isinstance(line, str) else BadEpisode(NO_TEXT)
    except (arrow.ArrowException, UnicodeDecodeError, OverflowError) as error:
        raise BadEpisode(f"this cannot be read as Parquet: {(str(error) or repr(error)).splitlines()[0]}") from error


NO_TEXT = f"this is not an episode as `planbook export` writes it; the column {TRAJECTORY} has no text"


def _check_size(metadata: Any) -> None:
    """Raise BadEpisode if a group of rows would have more bytes, after decompression, than its episodes may have."""
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        if group.total_byte_size > MAX_EPISODE_BYTES * max(1, group.num_rows):
            raise BadEpisode(f"row group {number}: {group.total_byte_size:,} bytes, more than its episodes may have")


def parse_episode(text: str | bytes) -> Trajectory:
    """Return the episode in a line of JSON. Raises BadEpisode if the line is not a valid episode."""
    line = text if isinstance(text, bytes) else text.encode()
    try:
        trajectory = Trajectory.model_validate_json(line, strict=True)
    except ValidationError as error:
        raise BadEpisode(*validation_faults(error)) from error
    if "schema_version" not in trajectory.model_fields_set:
        raise BadEpisode(f"schema: Field required; this version of planbook reads {TRAJECTORY_SCHEMA}")
    if faults := list(faults_of(trajectory)):
        raise BadEpisode(*faults)
    return trajectory


TEMPORARY_SCOPE = "task/0"
"""The scope of an episode while it is stored as events and read back."""
SCOPE = re.compile(r"round/\d{1,6}(/[^/\x00-\x1f]{1,60}/\d{1,6}){0,8}")
"""Matches the scopes that a file may contain, so that no imported episode writes events outside its own scope."""
ORDER_FIELDS: Any = {
    "recall": {"order"},
    "rounds": {"__all__": {"order": True, **{part: {"__all__": {"order"}} for part in ("cells", "steps", "rewinds")}}},
    "spans": {"__all__": {"order", "end"}},
    "calls": {"__all__": {"order"}},
}
"""Fields that only number the events of a trajectory. They may change when it is stored and read back."""


def faults_of(trajectory: Trajectory) -> Iterator[str]:
    """Yield the contradictions between the fields of an episode, each of which is valid by itself."""
    ending, parts = trajectory.ending, [*trajectory.spans, *trajectory.calls, *_parts_of_rounds(trajectory)]
    if not trajectory.run.planner:
        yield "run: the facts about the run of the episode are missing"
    if ending.outcome.solved != ending.verdict.solved and ending.outcome.played:
        yield f"the outcome is {ending.outcome}, but the verdict says {'' if ending.verdict.solved else 'not '}solved"
    if ending.outcome.solved == bool(ending.cause):
        yield f"an episode has a cause if and only if it was not solved; the outcome is {ending.outcome}"
    if not trajectory.rounds and ending.outcome.solved:
        yield f"the outcome is {ending.outcome}, but there is no round"
    if invalid := sorted(scope for scope in {part.scope for part in parts} if not SCOPE.fullmatch(scope)):
        yield f"{invalid[0][:60]!r} is not a scope; write one like round/0/plan/1"
    else:
        yield from _read_back(trajectory)


def _parts_of_rounds(trajectory: Trajectory) -> list[Any]:
    return [part for round_ in trajectory.rounds for part in (*round_.cells, *round_.steps, *round_.rewinds)]


def _read_back(trajectory: Trajectory) -> Iterator[str]:
    """Store an episode as events and read it back. If it changes, yield a fault that names the first changed field."""
    try:
        json.dumps(trajectory.model_dump(), allow_nan=False, default=str)
    except ValueError:
        yield "a number is NaN or infinite, which JSON cannot represent"
        return
    try:
        events = [
            Event(scope, kind, n, dict(body), 0.0) for scope, kind, n, body in rows_of(trajectory, TEMPORARY_SCOPE)
        ]
        copy = read_trajectory(TEMPORARY_SCOPE, events, trajectory.task)
    except (LookupError, ValueError) as error:
        yield f"the parts of the episode do not fit together: {error!r}"
        return
    excluded: Any = {"run": True, "repeat": True, **ORDER_FIELDS}
    changes = differing_parts(trajectory.model_dump(exclude=excluded), copy.model_dump(exclude=excluded))
    yield from (f"{name} does not fit the rest of the episode" for name, _, _ in islice(changes, 1))
