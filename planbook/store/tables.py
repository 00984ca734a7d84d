"""The two tables of a run, the same in every database."""

from typing import NamedTuple

from pydantic import JsonValue
from sqlalchemy import Column, Float, Integer, MetaData, String, Table, Text, UniqueConstraint

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
