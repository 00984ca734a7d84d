"""The store of a run: an append-only table of events, from which everything about the run is read.

Every event is committed before the next action, so a killed process loses nothing. The table, and a few auxiliary ones,
are in a SQLite file, or in a schema of a PostgreSQL database. Several processes may write at the same time.
"""

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Select, func, select

from planbook.envs import missing_extra
from planbook.errors import BadRun
from planbook.planner import Body, EventKind
from planbook.store.rows import (
    AFTER_SLASH,
    SELECT_ALL,
    SELECT_IN_SCOPE,
    SELECT_KIND_AFTER_ROW,
    pack,
    read_events,
    stored_kinds,
)
from planbook.store.sqlite import Sqlite
from planbook.store.tables import (
    EVENT,
    RESTART,
    TEXT,
    Event,
    EventRow,
    Leases,
    Schema,
    StoreLedger,
    StoreLocation,
    without_password,
)

if TYPE_CHECKING:
    from planbook.store.postgres import Postgres

OnEvent = Callable[[EventKind, Body], None]
"""Called with the kind and body of each new event of an episode, after it is committed."""


class EpisodeJournal:
    """The journal of an episode, or of any other scope (a path under which events are stored).

    Recorded events are read once, at the beginning. New events are committed immediately, then passed to ``on_event``.
    The dict ``events`` holds both, keyed by (scope, kind, number).
    """

    def __init__(self, store: "Store", path: str, on_event: OnEvent | None = None) -> None:
        self._store, self._on_event = store, on_event
        self.events: dict[Any, Body] = {
            (row.scope, row.kind, row.n): row.body
            for row in store.events(path)
            if not row.scope.startswith(path + RESTART)
        }

    def get(self, scope: str, kind: EventKind, number: int) -> Body | None:
        """Return the body of a recorded event, or None."""
        return self.events.get((scope, kind, number))

    def put(self, scope: str, kind: EventKind, number: int, body: Body) -> None:
        """Add an event and commit it. Raises BadRun if the run was interrupted, or the event cannot be written."""
        if self._store.journals_closed:
            raise BadRun("the run was interrupted: its episodes are no longer recorded")
        self._store.put(scope, kind, number, body)
        self.events[scope, kind, number] = body
        if self._on_event is not None:
            self._on_event(kind, body)


class Store:
    """The events of one run. Several threads and processes may write; each call that writes is one transaction."""

    def __init__(self, location: StoreLocation, *, to_write: bool = True) -> None:
        self.location = location
        self.journals_closed = False
        """True once no more events of episodes are recorded, although threads may still be playing episodes."""
        self._database = _open(location, to_write=to_write)
        with self._database.reading() as connection:
            self._stored_texts = set(connection.execute(select(TEXT.c.hash)).scalars())

    def put(self, scope: str, kind: EventKind, n: int, body: Body) -> None:
        """Add one event and commit it. Raises BadRun if its scope, kind and number already exist, or writing fails."""
        self.put_all([(scope, kind, n, body)])

    def put_all(self, rows: list[tuple[str, EventKind, int, Body]]) -> None:
        """Add events in one transaction. Raises BadRun, and adds none, if one of them cannot be added."""
        if not rows:
            return
        at = time.time()
        texts: dict[str, str] = {}
        packed_rows = [EventRow(scope, kind, n, pack(body, texts), at) for scope, kind, n, body in rows]
        new_texts = {digest: text for digest, text in texts.items() if digest not in self._stored_texts}
        self._database.add(packed_rows, new_texts)
        self._stored_texts |= new_texts.keys()

    def events(
        self, scope: str | None = None, kind: EventKind | tuple[EventKind, ...] | None = None
    ) -> Iterator[Event]:
        """Yield events in the order in which they were written.

        By default, all events are yielded. ``scope`` selects the events of a scope and of all scopes below it. ``kind``
        selects the events of one or several kinds.
        """
        query = SELECT_ALL if scope is None else SELECT_IN_SCOPE
        if kind is not None:
            query = query.where(EVENT.c.kind.in_(stored_kinds(*([kind] if isinstance(kind, str) else kind))))
        parameters = {} if scope is None else {"scope": scope, "first": f"{scope}/", "end": f"{scope}{AFTER_SLASH}"}
        yield from (event for _, event in self._read(query, parameters))

    def events_after(self, row: int) -> Iterator[tuple[int, Event]]:
        """Yield (row number, event) for all events after a row, in order. After row 0, yield all events.

        No event is missed if each call passes the last row number that the previous call has yielded, even while
        several processes write events. (``events_of_kind_after`` is faster, but may miss an event.)
        """
        last = self._database.last_settled_row(row)
        yield from self._read(SELECT_ALL.where(EVENT.c.id > row, EVENT.c.id <= last), {})

    @property
    def last_row(self) -> int:
        """The number of the last row of the table of events, or 0 if there are no events."""
        return self._database.last_settled_row(0)

    @property
    def event_count(self) -> int:
        """The number of events."""
        with self._database.reading() as connection:
            return connection.execute(select(func.count()).select_from(EVENT)).scalar_one()

    def events_of_kind_after(self, row: int, kind: EventKind) -> Iterator[tuple[int, Event]]:
        """Yield (row number, event) for the events of a kind after a row.

        In PostgreSQL, another process may commit an event after one with a larger row number was yielded here. A later
        call that passes the larger number misses this event.
        """
        yield from self._read(SELECT_KIND_AFTER_ROW, {"row": row, "kinds": stored_kinds(kind)})

    def _read(self, query: Select[Any], parameters: Mapping[str, Any]) -> Iterator[tuple[int, Event]]:
        with self._database.reading() as connection:
            yield from read_events(connection, query, parameters, self.location)

    def lock(self, index: int) -> AbstractContextManager[bool]:
        """Lock the episode with this index until the block ends. Yield False if it is locked already.

        A worker holds this lock while it plays the episode. The lock is released if the worker's process dies, or if
        its machine does not answer for a minute.
        """
        return self._database.lock(index)

    def claim(self) -> None:
        """Claim the run until this process ends. Raises BadRun if another process has claimed it.

        If the store is a file, this method does nothing, because ``Run`` locks the run's folder.
        """
        self._database.claim()

    def is_claimed(self) -> bool:
        """Return True if a process on any machine has claimed the run. Always return False if the store is a file.

        Raises BadRun if the database cannot be read.
        """
        return self._database.is_claimed()

    @property
    def leases(self) -> Leases:
        """The leases on the run's episodes."""
        return Leases(self._database.reading, self._database.writing)

    @property
    def ledger(self) -> StoreLedger:
        """The amounts that all processes of the run have spent or reserved."""
        return StoreLedger(self._database.writing)

    def close(self) -> None:
        """Close the database. All events are already committed."""
        self.journals_closed = True
        self._database.close()


def create_schema(url: str) -> Schema:
    """Create a schema for a new run in a PostgreSQL database.

    Raises BadArgument if the URL does not name a PostgreSQL database, BadRun if the schema cannot be created, or
    MissingRequirement if psycopg is not installed.
    """
    location = Schema.new(url)
    _postgres().create_schema(location)
    _user_urls[without_password(url)] = url
    return location


_user_urls: dict[str, str] = {}
"""Maps each URL that the user has given in this process, without its password, to the full URL."""


def recorded_location(location: Schema, url: str | None) -> Schema:
    """Return a location from run.json, with the password that the user gave for the same database.

    The password is in ``url``, or in a URL that the user gave earlier in this process. A run may come from a stranger,
    so run.json cannot be trusted: if it names a server on another machine, this raises BadRun, unless the user has
    given a URL with this server or has named it in PGHOST. Raises MissingRequirement if psycopg is not installed.
    """
    if url:
        _user_urls[without_password(url)] = url
    user_url = _user_urls.get(without_password(location.url))
    if user_url is None:
        _postgres().check_host(location)
    return replace(location, url=user_url or location.url)


def _open(location: StoreLocation, *, to_write: bool) -> "Sqlite | Postgres":
    if isinstance(location, Path):
        return Sqlite(location, to_write=to_write)
    database: Postgres = _postgres().Postgres(location, to_write=to_write)
    return database


def _postgres() -> Any:
    """Import ``postgres`` only when it is needed. Raises MissingRequirement if psycopg is not installed."""
    try:
        from planbook.store import postgres
    except ImportError as error:
        raise missing_extra("cluster", "a store in PostgreSQL") from error
    return postgres
