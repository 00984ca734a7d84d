"""Files of episodes, in JSON Lines or Parquet. A file appears only when it is complete.

A line of JSON Lines is the trajectory of one episode as JSON. A row of Parquet has the same JSON in its column
``trajectory``, and other columns to filter by. The metadata of the file names the schema under the key ``schema``.
"""

import json
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from math import isfinite
from pathlib import Path
from tempfile import TemporaryFile
from typing import Any, BinaryIO

from pydantic import ValidationError

from planbook.config import differing_names
from planbook.envs import missing_extra, validation_faults
from planbook.errors import BadArgument
from planbook.planner import TRAJECTORY_SCHEMA, Trajectory, read_trajectory, rows_of
from planbook.store import Event
from planbook.writing import open_atomic

STANDARD_OUTPUT = Path("-")
MAX_EPISODE_BYTES = 64 * 1024 * 1024
"""Maximum size of an episode. For comparison, one of 50 actions has about 100,000 bytes, including its prompts."""
PARQUET_MAGIC = b"PAR1"
"""The first bytes of a Parquet file."""
GROUP_CHARACTERS = 16_000_000
"""Number of characters of JSON after which a group of rows is written, to limit memory."""
BATCH = 8
"""Number of rows that are read together."""
COLUMNS: Mapping[str, Callable[[Trajectory], str | int | float | None]] = {
    "planner": lambda trajectory: trajectory.run.planner,
    "env": lambda trajectory: trajectory.task.env,
    "task": lambda trajectory: trajectory.task.id,
    "type": lambda trajectory: trajectory.task.type,
    "split": lambda trajectory: trajectory.task.split,
    "goal": lambda trajectory: trajectory.task.goal,
    "outcome": lambda trajectory: trajectory.ending.outcome.value,
    "cause": lambda trajectory: trajectory.ending.cause,
    "seed": lambda trajectory: trajectory.task.seed,
    "repeat": lambda trajectory: trajectory.repeat,
    "actions": lambda trajectory: trajectory.ending.actions,
    "error_steps": lambda trajectory: trajectory.ending.error_steps,
    "calls": lambda trajectory: len(trajectory.calls),
    "prompt_tokens": lambda trajectory: sum(call.reply.usage.prompt for call in trajectory.calls),
    "completion_tokens": lambda trajectory: sum(call.reply.usage.completion for call in trajectory.calls),
    "score": lambda trajectory: trajectory.ending.verdict.score,
    "solved": lambda trajectory: trajectory.ending.verdict.solved,
}
"""Maps each column of a Parquet file, except the trajectory, to the function that returns its value."""
INTEGERS = frozenset({"seed", "repeat", "actions", "error_steps", "calls", "prompt_tokens", "completion_tokens"})
TRAJECTORY = "trajectory"


class BadEpisode(ValueError):
    """A line or row is not a valid episode. ``faults`` describes everything that is wrong with it."""

    def __init__(self, *faults: str) -> None:
        super().__init__("; ".join(faults))
        self.faults = faults


Episode = tuple[str, Trajectory | BadEpisode]
"""The location of an episode in its file, and the episode or its faults."""


def line_of(trajectory: Trajectory) -> str:
    """Return the episode as one line of JSON. Equal episodes have equal lines."""
    value = sanitize(trajectory.model_dump(mode="json"))
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False)


def sanitize(value: Any) -> Any:
    """Return a value that every JSON reader accepts: lone surrogates are replaced, NaN and infinity become None."""
    if isinstance(value, str):
        return value.encode("utf-8", "replace").decode() if not value.isascii() else value
    if isinstance(value, dict):
        return {sanitize(key): sanitize(item) for key, item in value.items()}
    if isinstance(value, list):
        return [sanitize(item) for item in value]
    return None if isinstance(value, float) and not isfinite(value) else value


def parse_episode(text: str | bytes) -> Trajectory:
    """Return the episode in a line of JSON. Raises BadEpisode if the line is not a valid episode."""
    line = text if isinstance(text, bytes) else text.encode()
    try:
        trajectory = Trajectory.model_validate_json(line, strict=True)
    except ValidationError as error:
        raise BadEpisode(*_faults(error, line)) from error
    if "schema_version" not in trajectory.model_fields_set:
        raise BadEpisode(_schema_fault(line))
    if faults := list(faults_of(trajectory)):
        raise BadEpisode(*faults)
    return trajectory


def _faults(error: ValidationError, line: bytes) -> list[str]:
    """Return all faults, each with its field; if the line names another schema, return only that fault."""
    is_json = error.errors(include_input=False)[0]["type"] != "json_invalid"
    return [_schema_fault(line)] if is_json and _schema_of(line) != TRAJECTORY_SCHEMA else validation_faults(error)


def _schema_fault(line: bytes) -> str:
    schema = _schema_of(line)
    if isinstance(schema, str) and schema.startswith(TRAJECTORY_SCHEMA.partition("/")[0]):
        other = json.dumps(schema)[:60]
        return f"schema: {other} is read by another version of planbook; this one reads {TRAJECTORY_SCHEMA}"
    return f"schema: this is not an episode as `planbook export` writes it; `schema` has to be {TRAJECTORY_SCHEMA}"


def _schema_of(line: bytes) -> Any:
    value = json.loads(line)
    return value.get("schema") if isinstance(value, dict) else None


# Files.


@contextmanager
def open_output(path: Path) -> Iterator[BinaryIO]:
    """Open a file that appears only when it is complete; ``-`` is standard output.

    Raises BadArgument if it cannot be written.
    """
    if path == STANDARD_OUTPUT:
        with TemporaryFile() as file:
            yield file
            file.seek(0)
            shutil.copyfileobj(file, sys.stdout.buffer)
            sys.stdout.buffer.flush()
        return
    try:
        with open_atomic(path) as file:
            yield file
    except OSError as error:
        reason = error.strerror or error
        raise BadArgument(f"{path} cannot be written: {reason}; name another file with --out") from error


def read_episodes(path: Path) -> Iterator[Episode]:
    """Yield every episode of a file, or its faults, with its location in the file.

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


def read_lines(path: Path) -> Iterator[Episode]:
    """Yield every episode of a file in JSON Lines. Raises OSError if it cannot be read."""
    with path.open("rb") as file:
        for number, line in enumerate(_lines_of(file), 1):
            if line.strip():
                yield f"line {number}", _parse_or_fault(line)


def _lines_of(file: BinaryIO) -> Iterator[bytes]:
    """Yield the lines. A line that is too long is cut off, so that it cannot fill the memory."""
    while line := file.readline(MAX_EPISODE_BYTES + 1):
        part = line
        while len(part) > MAX_EPISODE_BYTES and not part.endswith(b"\n"):
            part = file.readline(MAX_EPISODE_BYTES + 1)
        yield line


def _parse_or_fault(line: str | bytes) -> Trajectory | BadEpisode:
    if len(line) > MAX_EPISODE_BYTES:
        return BadEpisode(f"longer than {MAX_EPISODE_BYTES:,} bytes, the limit of an episode")
    try:
        return parse_episode(line.strip())
    except (BadEpisode, UnicodeEncodeError) as bad:
        return bad if isinstance(bad, BadEpisode) else BadEpisode(str(bad))


def write_rows(episodes: Iterable[Trajectory], file: BinaryIO) -> None:
    """Write episodes as Parquet. Raises BadEpisode if a value does not fit its column."""
    arrow, parquet = _arrow()
    kinds = {name: arrow.int64() if name in INTEGERS else arrow.string() for name in (*COLUMNS, TRAJECTORY)}
    kinds |= {"score": arrow.float64(), "solved": arrow.bool_()}
    schema = arrow.schema(list(kinds.items()), metadata={"schema": TRAJECTORY_SCHEMA})
    with parquet.ParquetWriter(file, schema, compression="zstd") as writer:
        for group in _groups(episodes):
            try:
                writer.write_table(arrow.Table.from_pylist(group, schema=schema))
            except (arrow.ArrowException, OverflowError) as error:
                raise BadEpisode(f"the episodes up to {group[-1]['task']} do not fit Parquet: {error}") from error


def _groups(episodes: Iterable[Trajectory]) -> Iterator[list[dict[str, Any]]]:
    """Yield the rows in groups that fit in memory."""
    group, size = list[dict[str, Any]](), 0
    for episode in episodes:
        line = line_of(episode)
        group.append({name: sanitize(read(episode)) for name, read in COLUMNS.items()} | {TRAJECTORY: line})
        size += len(line)
        if size >= GROUP_CHARACTERS:
            yield group
            group, size = [], 0
    if group:
        yield group


def read_rows(path: Path) -> Iterator[Episode]:
    """Yield every episode of a Parquet file. Raises OSError if it cannot be read, BadEpisode if it is not Parquet."""
    arrow, parquet = _arrow()
    number = 0
    try:
        with parquet.ParquetFile(path) as file:
            _check_size(file.metadata)
            for batch in file.iter_batches(batch_size=BATCH):
                for row in batch.to_pylist():
                    number += 1
                    line = row.get(TRAJECTORY)
                    yield f"row {number}", _parse_or_fault(line) if isinstance(line, str) else BadEpisode(NO_TEXT)
    except (arrow.ArrowException, UnicodeDecodeError, OverflowError) as error:
        raise BadEpisode(f"this cannot be read as Parquet: {(str(error) or repr(error)).splitlines()[0]}") from error


NO_TEXT = f"this is not an episode as `planbook export` writes it; it has no text in the column {TRAJECTORY}"


def _check_size(metadata: Any) -> None:
    """Raise BadEpisode if a group of rows would unpack to more bytes than its episodes may have."""
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        if group.total_byte_size > MAX_EPISODE_BYTES * max(1, group.num_rows):
            raise BadEpisode(f"row group {number}: {group.total_byte_size:,} bytes, more than its episodes may have")


def _arrow() -> tuple[Any, Any]:
    """Import pyarrow, which takes a quarter of a second. Raises MissingRequirement if it is not installed."""
    try:
        import pyarrow
        from pyarrow import parquet
    except ImportError as error:
        raise missing_extra("parquet", "Parquet") from error
    return pyarrow, parquet


PATH = "task/0"
"""The scope of an episode while it is stored as events and read back."""
SCOPE = re.compile(r"round/\d{1,6}(/[^/\x00-\x1f]{1,60}/\d{1,6}){0,8}")
"""Matches the scopes that a file may contain, so that an import cannot write events elsewhere in its run."""
ORDERS: Any = {
    "recall": {"order"},
    "rounds": {"__all__": {"order": True, **{part: {"__all__": {"order"}} for part in ("cells", "steps", "rewinds")}}},
    "spans": {"__all__": {"order", "end"}},
    "calls": {"__all__": {"order"}},
}
"""Fields of a trajectory that get new numbers when it is stored and read back. The order of events does not change."""


def faults_of(trajectory: Trajectory) -> Iterator[str]:
    """Yield the contradictions between the fields of an episode from a file. Each single field is already validated."""
    ending, parts = trajectory.ending, [*trajectory.spans, *trajectory.calls, *_parts_of_rounds(trajectory)]
    if not trajectory.run.planner:
        yield "run: the facts about the run of the episode are missing"
    if ending.outcome.solved != ending.verdict.solved and ending.outcome.played:
        yield f"the outcome is {ending.outcome}, and the verdict says {'' if ending.verdict.solved else 'not '}solved"
    if ending.outcome.solved == bool(ending.cause):
        yield f"an episode has a cause if and only if it was not solved; the outcome is {ending.outcome}"
    if not trajectory.rounds and ending.outcome.played:
        yield f"the outcome is {ending.outcome}, and there is no round"
    if invalid := sorted(scope for scope in {part.scope for part in parts} if not SCOPE.fullmatch(scope)):
        yield f"{invalid[0][:60]!r} is not a scope; write one like round/0/plan/1"
    else:
        yield from _read_back(trajectory)


def _parts_of_rounds(trajectory: Trajectory) -> list[Any]:
    return [part for round_ in trajectory.rounds for part in (*round_.cells, *round_.steps, *round_.rewinds)]


def _read_back(trajectory: Trajectory) -> Iterator[str]:
    """Yield a fault if the episode changes when it is stored as events and read back. It names the first change."""
    try:
        json.dumps(trajectory.model_dump(), allow_nan=False, default=str)
    except ValueError:
        yield "a number is NaN or infinite, which JSON does not have"
        return
    try:
        events = [Event(scope, kind, n, dict(body), 0.0) for scope, kind, n, body in rows_of(trajectory, PATH)]
        copy = read_trajectory(PATH, events, trajectory.task)
    except (LookupError, ValueError) as error:
        yield f"its parts do not fit together: {error!r}"
        return
    excluded: Any = {"run": True, "repeat": True, **ORDERS}
    name = next(differing_names(trajectory.model_dump(exclude=excluded), copy.model_dump(exclude=excluded)), None)
    if name is not None:
        yield f"{name} does not fit the rest of the episode"
