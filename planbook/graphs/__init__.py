"""`planbook graph`: prompt graphs without coding.

``commands`` parse and print, ``running`` runs a graph in a run folder.
``new.yaml`` is what ``planbook graph new`` writes.
"""

from planbook.graphs.commands import graph
from planbook.graphs.running import GraphRun

__all__ = ["GraphRun", "graph"]
