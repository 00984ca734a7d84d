"""The store of a run, which records everything that happens in one append-only table of events.

- ``store`` reads and writes events, and has the journal of an episode.
- ``tables`` defines the tables. Besides events, they hold what the processes of a run share: the money and calls that
  are spent or reserved, and the leases on episodes (which worker plays which episode).
- ``sqlite`` keeps the tables in a file, ``postgres`` in a schema of a PostgreSQL database.
"""

from typing import TYPE_CHECKING

from planbook import lazy_getattr

if TYPE_CHECKING:
    from planbook.store.store import (
        RESTART,
        EpisodeJournal,
        Store,
        Watch,
        create_schema,
        recorded_location,
        restart_scope,
        without_restart,
    )
    from planbook.store.tables import LONG_TEXT, Event, Losses, Schema, StoreLocation, without_password
else:
    __getattr__ = lazy_getattr(__name__)
