"""`planbook graph`: prompt graphs without coding.

``commands`` parse and print. ``making`` asks questions for a new graph and keeps it in a ``sheet``; ``running`` runs
one on what ``giving`` puts into its database.
"""

from planbook.graphs.commands import graph

__all__ = ["graph"]
