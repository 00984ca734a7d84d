"""Where is everything kept that happens in a run?

``store`` writes and reads events, a long string of a body (``packing``) only once; ``journal`` is one episode's view of
it; ``restarts`` says where in it stands what was started over. The two ``tables`` are in a file (``sqlite``) or in a
schema of a PostgreSQL database (``postgres``), as the ``place`` says; to the store every ``database`` is the same. The
``ledger`` has what all processes of a run have spent and reserved.
"""

from planbook.store.journal import EpisodeJournal, Watch
from planbook.store.packing import LONG_TEXT
from planbook.store.place import Place, Schema, without_password
from planbook.store.restarts import RESTART, started_over, without_restart
from planbook.store.store import Store, begin_schema
from planbook.store.tables import Event

__all__ = [
    "LONG_TEXT",
    "RESTART",
    "EpisodeJournal",
    "Event",
    "Place",
    "Schema",
    "Store",
    "Watch",
    "begin_schema",
    "started_over",
    "without_password",
    "without_restart",
]
