"""`planbook graph`: prompt graphs without coding.

``commands`` parses options and prints, ``running`` runs a graph in a run folder. ``planbook graph new`` writes
``new.yaml``.
"""

from planbook.graphs.commands import graph
from planbook.graphs.running import GraphRun

__all__ = ["GraphRun", "graph"]
