"""TextCraft: crafting things by recipes, in text (the environment of the ADaPT paper).

- ``environment``: the class and its tasks. ``recipes``: the package's recipes, and the parser of commands.
- ``planning``: goals for a selector, and preconditions.
"""

from planbook.envs.textcraft.environment import Textcraft

__all__ = ["Textcraft"]
