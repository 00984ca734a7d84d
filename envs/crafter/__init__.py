"""Crafter: survival and a tree of 22 achievements, in words (the environment of the AgentKit paper).

- ``environment``: the class, its options and tasks.
- ``game``: the genuine game without its pictures, with snapshots. ``rules``: the package's tables.
- ``view``: the player's view in words. ``actions``: the player's actions, and reasons why one fails.
"""

from planbook.envs.crafter.environment import Crafter, CrafterOptions

__all__ = ["Crafter", "CrafterOptions"]
