"""`planbook graph`: prompt graphs without coding."""

from planbook.graphs.commands import graph

__all__ = ["graph"]
