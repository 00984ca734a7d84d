"""The tables of a run, how bodies of events are packed in them, and where they are."""

import hashlib
import json
import re
import secrets
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, NamedTuple, Self

from pydantic import JsonValue
from sqlalchemy import Column, Float, Integer, MetaData, String, Table, Text, UniqueConstraint

from planbook.errors import BadArgument
from planbook.planner import Body

METADATA = MetaData()
SCOPE = Text().with_variant(Text(collation="C"), "postgresql")
"""Sorted by bytes, as SQLite does by default, so that the scopes below one are a range."""
EVENT = Table(
    "event",
    METADATA,
    Column("id", Integer, primary_key=True),
    Column("scope", SCOPE, nullable=False),
    Column("kind", String(16), nullable=False),
    Column("n", Integer, nullable=False),
    Column("body", Text, nullable=False),
    Column("at", Float, nullable=False),
    UniqueConstraint("scope", "kind", "n"),
)
LEDGER = Table(
    "ledger",
    METADATA,
    Column("call", Text, primary_key=True),
    Column("calls", Integer, nullable=False),
    Column("tokens", Integer, nullable=False),
    Column("money", Float, nullable=False),
)
"""The amounts spent, and reserved for each model call under way; see ``planbook.store.ledger``."""
LEASE = Table(
    "lease",
    METADATA,
    Column("episode", Integer, primary_key=True, autoincrement=False),
    Column("worker", Text, nullable=False),
    Column("lost", Integer, nullable=False),
    Column("events", Integer, nullable=False),
)
"""The worker that leased an episode last, the number lost on it in a row, and the most events it had by then."""
TEXT = Table("text", METADATA, Column("hash", String(64), primary_key=True), Column("body", Text, nullable=False))


class Event(NamedTuple):
    """One event; ``at`` is seconds since 1970."""

    scope: str
    kind: str
    n: int
    body: dict[str, JsonValue]
    at: float


class EventRow(NamedTuple):
    """An event as it is written, with its body packed into JSON."""

    scope: str
    kind: str
    n: int
    body: str
    at: float


LONG_TEXT = 400
"""Strings of at least this length go to the table of texts."""
TEXT_KEY = "$text"
ESCAPE = "\\"
"""Precedes a key of a body that begins like one of the store's own."""


def packed(body: Body, texts: dict[str, str]) -> str:
    """Return a body as JSON; ``texts`` receives the long strings, by their hashes."""
    value = _pack(dict(body), texts)
    text = json.dumps(value, ensure_ascii=False)
    return text if _storable(text) else json.dumps(value)


def texts_of(value: Any) -> Iterator[str]:
    """Yield the hashes of the long strings that a packed body needs."""
    if isinstance(value, list):
        for item in value:
            yield from texts_of(item)
    elif isinstance(value, dict):
        if set(value) == {TEXT_KEY}:
            yield value[TEXT_KEY]
        else:
            yield from texts_of(list(value.values()))


def unpacked(value: Any, texts: Mapping[str, str]) -> Any:
    """Return the original body, with its long strings."""
    if isinstance(value, list):
        return [unpacked(item, texts) for item in value]
    if not isinstance(value, dict):
        return value
    if set(value) == {TEXT_KEY}:
        return texts[value[TEXT_KEY]]
    return {key.removeprefix(ESCAPE): unpacked(item, texts) for key, item in value.items()}


def _pack(value: JsonValue, texts: dict[str, str]) -> JsonValue:
    if isinstance(value, str):
        if len(value) < LONG_TEXT or not _storable(value):
            return value
        digest = hashlib.sha256(value.encode("utf-8")).hexdigest()
        texts[digest] = value
        return {TEXT_KEY: digest}
    if isinstance(value, dict):
        return {_escaped(key): _pack(item, texts) for key, item in value.items()}
    if isinstance(value, list):
        return [_pack(item, texts) for item in value]
    return value


def _storable(text: str) -> bool:
    """Return whether databases accept a text as it is.

    Half of a surrogate pair has no UTF-8, and PostgreSQL takes no NUL; both are kept as escapes of JSON.
    """
    try:
        return b"\0" not in text.encode("utf-8")
    except UnicodeEncodeError:
        return False


def _escaped(key: str) -> str:
    """Return a key, escaped if it could be taken for one of the store's own."""
    return f"{ESCAPE}{key}" if key.startswith(("$", ESCAPE)) else key


URL_STARTS = ("postgresql://", "postgres://")


@dataclass(frozen=True)
class Schema:
    """A schema in a PostgreSQL database, which has the tables of one run."""

    url: str = field(repr=False)
    """A URL for libpq; it may have a password."""
    schema: str

    @classmethod
    def named_now(cls, url: str) -> Self:
        """Return a schema with a new name. Raises BadArgument for anything but a URL of PostgreSQL."""
        if not url.startswith(URL_STARTS):
            told = f"--store {without_password(url)}"
            raise BadArgument(f"{told}: write postgresql://USER@HOST/DATABASE; without --store it is a file")
        return cls(url, f"planbook_{datetime.now():%Y%m%d_%H%M%S}_{secrets.token_hex(3)}")

    def lasting(self) -> Self:
        """Return the schema without the password, for run.json."""
        return replace(self, url=without_password(self.url))

    def by(self, url: str | None) -> Self:
        """Return the schema with a URL that may have the password; a URL of another database changes nothing."""
        return replace(self, url=url) if url and without_password(url) == without_password(self.url) else self

    def __str__(self) -> str:
        return f"{without_password(self.url)} (schema {self.schema})"


Place = Path | Schema


def without_password(url: str) -> str:
    """Return a URL without its password, which must be neither recorded nor shown."""
    bare = re.sub(r"^(\w+://[^/:@]*):[^/]*@", r"\1@", url)
    return re.sub(r"(?<=[?&])password=[^&]*(&|$)", "", bare).rstrip("?&")
