"""Where is everything kept that happens in a run?

``store`` writes and reads events, a long string of a body (``packing``) only once; ``journal`` is one episode's view of
it. The two ``tables`` are in a file (``sqlite``); to the store every ``database`` is the same.
"""

from planbook.store.journal import EpisodeJournal, Watch
from planbook.store.packing import LONG_TEXT
from planbook.store.store import Store
from planbook.store.tables import Event

__all__ = ["LONG_TEXT", "EpisodeJournal", "Event", "Store", "Watch"]
