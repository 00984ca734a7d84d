"""Episodes as Parquet: one row an episode, its parts in nested columns.

The columns follow from the schema. What has no fixed shape (a task's params, an action's arguments, a run's config) is
a string that holds JSON. The file's metadata names the schema, as ``schema``.
"""

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import Enum
from pathlib import Path
from types import NoneType, UnionType
from typing import Annotated, Any, BinaryIO, Literal, Union, get_args, get_origin, get_type_hints

from pydantic import BaseModel

from planbook.envs import missing_extra
from planbook.planner import Trajectory
from planbook.planner.trajectory import SCHEMA
from planbook.trajectories.jsonl import LONGEST, BadEpisode, parsed

try:
    import pyarrow as arrow
    from pyarrow import parquet
except ImportError as error:
    raise missing_extra("parquet", "Parquet") from error

GROUP_CHARACTERS = 16_000_000
"""Characters of JSON after which a group of rows is written: what is held in memory at once."""
PLAIN: Mapping[Any, Callable[[], Any]] = {
    str: arrow.string,
    int: arrow.int64,
    float: arrow.float64,
    bool: arrow.bool_,
}
LEFT_OUT = frozenset({"task", "milestones", "measures", "given", "data", "reworded", "reasoning"})
"""Fields that JSON leaves out where they are nothing; a null of any other is JSON's null."""
BATCH = 8
"""Rows that are read at once."""
AS_JSON = "json"
"""Marks a column whose strings hold JSON."""


def schema() -> arrow.Schema:
    """The columns of a file."""
    return arrow.schema(_columns(Trajectory), metadata={"schema": SCHEMA})


def write_rows(trajectories: Iterable[tuple[Trajectory, str]], file: BinaryIO) -> None:
    """Write episodes, each with its line of JSON, group by group. Raises BadEpisode for what no column holds."""
    columns, group, size = schema(), list[Any](), 0
    with parquet.ParquetWriter(file, columns, compression="zstd") as writer:
        for trajectory, line in trajectories:
            group.append(_packed(json.loads(line), columns))
            size += len(line)
            if size >= GROUP_CHARACTERS:
                writer.write_table(_table(group, columns, trajectory))
                group, size = [], 0
        if group:
            writer.write_table(_table(group, columns, trajectory))


def read_rows(path: Path) -> Iterator[tuple[str, Trajectory | BadEpisode]]:
    """Every episode of a file with the place where it stands, or what is wrong there. Raises OSError, BadEpisode."""
    columns, number = list(schema()), 0
    try:
        with parquet.ParquetFile(path) as file:
            _check_size(file.metadata)
            for batch in file.iter_batches(batch_size=BATCH):
                for row in batch.to_pylist():
                    number += 1
                    yield f"row {number}", _episode(row, columns)
    except (arrow.ArrowException, UnicodeDecodeError, OverflowError) as error:
        raise BadEpisode([f"this cannot be read as Parquet: {(str(error) or repr(error)).splitlines()[0]}"]) from error


def _check_size(metadata: parquet.FileMetaData) -> None:
    """See that no group of rows unpacks to more than its episodes can have. Raises BadEpisode."""
    for number in range(metadata.num_row_groups):
        group = metadata.row_group(number)
        if group.total_byte_size > LONGEST * max(1, group.num_rows):
            raise BadEpisode([f"row group {number}: {group.total_byte_size:,} bytes, which no episodes have"])


def _episode(row: dict[str, Any], columns: Sequence[Any]) -> Trajectory | BadEpisode:
    try:
        text = json.dumps(_unpacked(row, columns), ensure_ascii=False)
        return parsed(text) if len(text) <= LONGEST else BadEpisode([f"longer than {LONGEST:,} characters"])
    except BadEpisode as bad:
        return bad
    except (TypeError, ValueError, RecursionError) as error:
        return BadEpisode([f"a column that holds JSON does not, or has another type: {str(error)[:200]}"])


# The columns.


def _columns(model: type[BaseModel]) -> list[Any]:
    return [
        _column(field.alias or name, field.annotation, optional=field.exclude_if is not None)
        for name, field in model.model_fields.items()
        if not field.exclude
    ]


def _column(name: str, kind: Any, *, optional: bool = False) -> Any:
    """One column; ``optional`` is left out of JSON where it is nothing."""
    kind, nullable = _without_none(kind)
    found = _type(kind)
    marks = {"as": AS_JSON} if found is None else {}
    return arrow.field(name, arrow.string() if found is None else found, nullable or optional, marks or None)


def _without_none(kind: Any) -> tuple[Any, bool]:
    while get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if get_origin(kind) in (Union, UnionType):
        inner = [each for each in get_args(kind) if each is not NoneType]
        if len(inner) < len(get_args(kind)) and len(inner) == 1:
            return inner[0], True
    return kind, False


def _type(kind: Any) -> Any:
    """The column's type; None where the shape is not fixed."""
    while get_origin(kind) is Annotated:
        kind = get_args(kind)[0]
    if kind in PLAIN:
        return PLAIN[kind]()
    if get_origin(kind) is Literal or (isinstance(kind, type) and issubclass(kind, Enum)):
        return arrow.string()
    if get_origin(kind) is tuple and get_args(kind)[1:] == (...,):
        inner = _column("item", get_args(kind)[0])
        return arrow.list_(inner) if inner.metadata is None else None
    if isinstance(kind, type) and issubclass(kind, BaseModel):
        return arrow.struct(_columns(kind))
    if is_dataclass(kind):
        hints = get_type_hints(kind, include_extras=True)
        return arrow.struct([_column(field.name, hints[field.name]) for field in fields(kind)])
    return None


# The rows.


def _packed(value: dict[str, Any], columns: Iterable[Any]) -> dict[str, Any]:
    """The object with JSON where a column holds that, and null for what was left out."""
    return {column.name: _cell(value[column.name], column) for column in columns if column.name in value}


def _cell(value: Any, column: Any) -> Any:
    if column.metadata is not None:
        return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    return _walked(value, column.type, _packed)


def _unpacked(value: dict[str, Any], columns: Iterable[Any]) -> dict[str, Any]:
    """The object as it was written: what is null and may be missing is left out. Columns of others stay as they are."""
    known = {column.name: column for column in columns}
    return {
        name: _read(item, known[name]) if name in known else item
        for name, item in value.items()
        if item is not None or name not in LEFT_OUT
    }


def _read(value: Any, column: Any) -> Any:
    if column.metadata is not None:
        return None if value is None else json.loads(value)
    return _walked(value, column.type, _unpacked)


def _walked(value: Any, kind: Any, each: Callable[[dict[str, Any], Iterable[Any]], dict[str, Any]]) -> Any:
    """The value with ``each`` applied to the objects in it."""
    if isinstance(value, dict) and arrow.types.is_struct(kind):
        return each(value, kind.fields)
    if isinstance(value, list) and arrow.types.is_list(kind):
        return [_walked(item, kind.value_type, each) for item in value]
    return value


def _table(rows: list[Any], columns: arrow.Schema, last: Trajectory) -> arrow.Table:
    try:
        return arrow.Table.from_pylist(rows, schema=columns)
    except (arrow.ArrowException, OverflowError) as error:
        raise BadEpisode([f"the group of episodes up to {last.task.id} does not fit Parquet: {error}"]) from error
