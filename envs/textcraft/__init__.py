"""TextCraft: crafting items by recipes, in text. It is an environment of the ADaPT paper.

- ``environment``: the environment class and its tasks.
- ``recipes``: the recipes, the parser of crafting commands, and the reasons why commands are refused.
- ``planning``: the goals for the planning method DEPS, and the preconditions of actions.
"""

from planbook.envs.textcraft.environment import Textcraft

__all__ = ["Textcraft"]
