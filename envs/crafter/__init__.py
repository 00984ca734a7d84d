"""The environment Crafter: a survival game with a tree of 22 achievements, played in words, as in the AgentKit paper.

- ``environment``: the environment's class, its options and tasks.
- ``game``: the original game without pictures, whose state can be saved and restored.
- ``rules``: the tables of the game's package, the player's actions, and the reasons why they may fail.
- ``view``: describes in words what the player sees.
"""

from planbook.envs.crafter.environment import Crafter, CrafterOptions

__all__ = ["Crafter", "CrafterOptions"]
