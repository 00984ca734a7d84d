"""The store of a run: everything that happens, in one append-only table of events.

``store`` reads and writes events, and provides the journal of each episode. The ``tables`` are in a file (``sqlite``)
or in a schema of a PostgreSQL database (``postgres``). Besides the events, they hold the state that the processes of a
run share: money and calls spent and reserved, and leases on episodes.
"""

from typing import TYPE_CHECKING

from planbook import lazily

if TYPE_CHECKING:
    from planbook.store.store import (
        RESTART,
        EpisodeJournal,
        Store,
        Watch,
        begin_schema,
        recorded_place,
        started_over,
        without_restart,
    )
    from planbook.store.tables import LONG_TEXT, Event, Losses, Place, Schema, without_password
else:
    __getattr__ = lazily(__name__)
