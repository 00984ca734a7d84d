"""Crafter: survival and a tree of 22 achievements, in words (the environment of the AgentKit paper).

- ``environment``: the class, its options and tasks.
- ``game``: the original game, without pictures and with snapshots. ``rules``: the package's tables.
- ``view``: the player's view in words. ``actions``: the player's actions, and the reasons why they fail.
"""

from planbook.envs.crafter.environment import Crafter, CrafterOptions

__all__ = ["Crafter", "CrafterOptions"]
