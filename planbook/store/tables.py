"""The two tables of a run, the same in every database."""

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
"""In the order of its bytes, which SQLite has by itself: so the scopes below one are a range."""
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
"""What is reserved for each model call under way, and in one row what is spent; see ``planbook.store.ledger``."""
LEASE = Table(
    "lease",
    METADATA,
    Column("episode", Integer, primary_key=True, autoincrement=False),
    Column("worker", Text, nullable=False),
    Column("lost", Integer, nullable=False),
    Column("events", Integer, nullable=False),
)
"""Which worker played an episode last, how many were lost on it in a row, and the most events it had by then."""
TEXT = Table("text", METADATA, Column("hash", String(64), primary_key=True), Column("body", Text, nullable=False))


class Event(NamedTuple):
    """One event; ``at`` is seconds since 1970."""

    scope: str
    kind: str
    n: int
    body: dict[str, JsonValue]
    at: float


class Row(NamedTuple):
    """An event as it is written: its body is packed into JSON."""

    scope: str
    kind: str
    n: int
    body: str
    at: float


LONG_TEXT = 400
"""Strings from this length on go to the table of texts."""
TEXT_KEY = "$text"
ESCAPE = "\\"
"""Stands before a key of a body that begins as the store's own does."""


def packed(body: Body, texts: dict[str, str]) -> str:
    """The body as JSON; ``texts`` takes the long strings, by their hashes."""
    value = _pack(dict(body), texts)
    text = json.dumps(value, ensure_ascii=False)
    return text if _storable(text) else json.dumps(value)


def texts_of(value: Any) -> Iterator[str]:
    """The hashes of the long strings that a packed body needs."""
    if isinstance(value, list):
        for item in value:
            yield from texts_of(item)
    elif isinstance(value, dict):
        if set(value) == {TEXT_KEY}:
            yield value[TEXT_KEY]
        else:
            yield from texts_of(list(value.values()))


def unpacked(value: Any, texts: Mapping[str, str]) -> Any:
    """The body as it was, with its long strings."""
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
    """Whether databases take the text as it is.

    Half of a surrogate pair has no UTF-8, and PostgreSQL takes no NUL; both are kept as escapes of JSON.
    """
    try:
        return b"\0" not in text.encode("utf-8")
    except UnicodeEncodeError:
        return False


def _escaped(key: str) -> str:
    """A key of a body that could be taken for the store's own."""
    return f"{ESCAPE}{key}" if key.startswith(("$", ESCAPE)) else key


URL_STARTS = ("postgresql://", "postgres://")


@dataclass(frozen=True)
class Schema:
    """The two tables of one run in a PostgreSQL database: they are in a schema of their own."""

    url: str = field(repr=False)
    """As libpq takes it; it may have a password."""
    schema: str

    @classmethod
    def named_now(cls, url: str) -> Self:
        """A name that no run has yet. Raises BadArgument for what is no URL of PostgreSQL."""
        if not url.startswith(URL_STARTS):
            told = f"--store {without_password(url)}"
            raise BadArgument(f"{told}: write postgresql://USER@HOST/DATABASE; without --store it is a file")
        return cls(url, f"planbook_{datetime.now():%Y%m%d_%H%M%S}_{secrets.token_hex(3)}")

    def lasting(self) -> Self:
        """Without the password, to be written down."""
        return replace(self, url=without_password(self.url))

    def by(self, url: str | None) -> Self:
        """The same place by a URL that may have the password; another URL than this one's changes nothing."""
        return replace(self, url=url) if url and without_password(url) == without_password(self.url) else self

    def __str__(self) -> str:
        return f"{without_password(self.url)} (schema {self.schema})"


Place = Path | Schema


def without_password(url: str) -> str:
    """The URL without what must be neither written down nor told."""
    bare = re.sub(r"^(\w+://[^/:@]*):[^/]*@", r"\1@", url)
    return re.sub(r"(?<=[?&])password=[^&]*(&|$)", "", bare).rstrip("?&")
