"""`planbook graph`: prompt graphs without coding.

``commands`` parse and print, ``inputs`` are the values that a graph runs on, ``running`` runs it in a run folder.
``new.yaml`` is what ``planbook graph new`` writes.
"""

from planbook.graphs.commands import graph
from planbook.graphs.running import GraphRun

__all__ = ["GraphRun", "graph"]
