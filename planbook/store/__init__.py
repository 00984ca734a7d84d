"""The store of a run: an append-only table of events, which records everything that happens.

- ``store`` reads and writes events, and defines the journal of an episode.
- ``sqlite`` keeps the tables in a file, ``postgres`` in a schema of a PostgreSQL database.
- ``rows`` packs events into rows, reads them back, and checks the definitions of a file's tables.
- ``tables`` defines the tables. Besides events, they hold what the processes of a run share: the money and calls that
  are spent or reserved, and the leases on episodes (which worker plays which episode).
"""

from typing import TYPE_CHECKING

from planbook import lazy_getattr

if TYPE_CHECKING:
    from planbook.store.rows import LONG_TEXT
    from planbook.store.store import EpisodeJournal, OnEvent, Store, create_schema, recorded_location
    from planbook.store.tables import (
        RESTART,
        Event,
        Events,
        Schema,
        StoreLocation,
        restart_scope,
        without_password,
        without_restart,
    )
else:
    __getattr__ = lazy_getattr(__name__)
