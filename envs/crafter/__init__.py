"""The environment Crafter: a survival game with a tree of 22 achievements, played in words, as in the AgentKit paper.

- ``environment``: the environment's class, its options and its tasks.
- ``game``: runs the original game without drawing pictures, and saves and restores its state.
- ``rules``: the tables of the game's package, the player's actions, and the reasons why they may fail.
- ``view``: the player's view, and its description in words.
"""

from planbook.envs.crafter.environment import Crafter, CrafterOptions

__all__ = ["Crafter", "CrafterOptions"]
