"""Pack the bodies of events into rows of a run's tables, and read them back.

A long string is stored only once, in the table of texts.
"""

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import sqlalchemy as sa
from pydantic import JsonValue
from sqlalchemy.dialects import sqlite
from sqlalchemy.schema import CreateTable

from planbook.errors import BadRun, damaged_run
from planbook.planner import Body
from planbook.store.tables import EVENT, METADATA, TEXT, Event

LONG_TEXT = 400
"""Strings of at least this many characters are stored in the table of texts, each only once."""
TEXT_KEY = "$text"
"""Key of the object ``{"$text": HASH}``, which replaces a long string in the body of an event."""
ESCAPE = "\\"
"""Prefix that is added to a key in a body if the key begins with ``$`` or with this prefix."""
MAYBE_CHANGED = re.compile(r'"(\$|\\\\)')
"""Matches in the JSON of every packed body that differs from the original. Other bodies need not be unpacked."""


def pack(body: Body, texts: dict[str, str]) -> str:
    """Return the body of an event as JSON, with a hash in place of each long string.

    The long strings are added to ``texts``, which maps hashes to strings.
    """
    value = _pack_value(dict(body), texts)
    text = json.dumps(value, ensure_ascii=False)
    return text if _is_storable(text) else json.dumps(value)


def hashes_in(value: Any) -> Iterator[str]:
    """Yield the hashes of the long strings that a packed body refers to."""
    if isinstance(value, list):
        for item in value:
            yield from hashes_in(item)
    elif isinstance(value, dict):
        if set(value) == {TEXT_KEY}:
            yield str(value[TEXT_KEY])
        else:
            yield from hashes_in(list(value.values()))


def unpack(value: Any, texts: Mapping[str, str]) -> Any:
    """Restore a packed value. ``texts`` maps the hashes in it to the long strings."""
    if isinstance(value, list):
        return [unpack(item, texts) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {TEXT_KEY}:
        return texts[str(value[TEXT_KEY])]
    return {key.removeprefix(ESCAPE): unpack(item, texts) for key, item in value.items()}


def _pack_value(value: JsonValue, texts: dict[str, str]) -> JsonValue:
    if isinstance(value, str):
        if len(value) < LONG_TEXT or not _is_storable(value):
            return value
        digest = hashlib.sha256(value.encode("utf-8")).hexdigest()
        texts[digest] = value
        return {TEXT_KEY: digest}
    if isinstance(value, dict):
        return {
            f"{ESCAPE}{key}" if key.startswith(("$", ESCAPE)) else key: _pack_value(item, texts)
            for key, item in value.items()
        }
    if isinstance(value, list):
        return [_pack_value(item, texts) for item in value]
    return value


def _is_storable(text: str) -> bool:
    """Return True if databases can store a string unchanged.

    Lone surrogates cannot be encoded in UTF-8, and PostgreSQL refuses the character NUL. A string with one of these is
    stored with JSON escapes instead.
    """
    try:
        return b"\0" not in text.encode("utf-8")
    except UnicodeEncodeError:
        return False


FORMER_KINDS = {"heard": "piece", "sitting": "invocation", "learnt": "learned"}
"""Maps the kinds that earlier versions of planbook gave to events to the present ones, under which they are read."""


def stored_kinds(*kinds: str) -> list[str]:
    """Return the kinds under which the events of these kinds may be stored: the present and the former ones."""
    return [*kinds, *(former for former, kind in FORMER_KINDS.items() if kind in kinds)]


AFTER_SLASH = chr(ord("/") + 1)
"""The character that follows "/". The scopes below ``task/3`` are those from ``task/3/`` up to ``task/30``, exclusive.

This range is looked up in the index; a comparison with LIKE would not use it."""
BATCH_SIZE = 500
"""Number of events, or of long strings, that are read at a time."""
SELECT_ALL = sa.select(EVENT).order_by(EVENT.c.id)
SELECT_IN_SCOPE = SELECT_ALL.where(
    sa.or_(
        EVENT.c.scope == sa.bindparam("scope"),
        sa.and_(EVENT.c.scope >= sa.bindparam("first"), EVENT.c.scope < sa.bindparam("end")),
    )
)
"""Selects the events of a scope and of all scopes below it. The query is compiled once, and used for all episodes."""
SELECT_KIND_AFTER_ROW = SELECT_ALL.where(EVENT.c.id > sa.bindparam("row"), EVENT.c.kind.in_(sa.bindparam("kinds")))


def read_events(
    connection: sa.Connection, query: sa.Select[Any], parameters: Mapping[str, Any], run: object
) -> Iterator[tuple[int, Event]]:
    """Yield (row number, event) for each row that a query selects, with the body unpacked.

    Raises BadRun, which names ``run``, if a body is not JSON or one of its texts is missing.
    """
    texts: dict[str, str] = {}
    for rows in connection.execution_options(yield_per=BATCH_SIZE).execute(query, parameters).partitions():
        try:
            packed = [(json.loads(row.body), MAYBE_CHANGED.search(row.body)) for row in rows]
            hashes = {digest for body, changed in packed if changed for digest in hashes_in(body)}
            missing = sorted(hashes - texts.keys())
            for start in range(0, len(missing), BATCH_SIZE):
                chunk = sa.select(TEXT).where(TEXT.c.hash.in_(missing[start : start + BATCH_SIZE]))
                texts.update({row.hash: row.body for row in connection.execute(chunk)})
            bodies = [dict(unpack(body, texts) if changed else body) for body, changed in packed]
        except (KeyError, TypeError, ValueError, RecursionError) as error:
            raise damaged_run(run, error) from error
        for row, body in zip(rows, bodies, strict=True):
            yield row.id, Event(row.scope, FORMER_KINDS.get(row.kind, row.kind), row.n, body, row.at)


def check_definitions(connection: sa.Connection, path: Path) -> None:
    """Raise BadRun if a SQLite file defines anything but the tables of a run.

    A file may come from a stranger. A view in place of a table could run forever; a trigger could change other rows.
    """
    tables = METADATA.tables.values()
    expected = {_normalized(str(CreateTable(table).compile(dialect=sqlite.dialect()))) for table in tables}
    for name, sql in connection.execute(sa.text("SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL")):
        if _normalized(sql) not in expected:
            raise BadRun(f"{path} cannot be used as a run's store: planbook did not define {name!r} in it")


def _normalized(sql: str) -> str:
    return re.sub(r'[\s"]+', "", sql)
