"""TextCraft: crafting items by recipes, in text. It is an environment of the ADaPT paper.

- ``environment``: the environment class, its tasks, and the goals for the planning method DEPS.
- ``recipes``: the recipes, the parser of crafting commands, and the reasons why commands are refused.
"""

from planbook.envs.textcraft.environment import Textcraft

__all__ = ["Textcraft"]
