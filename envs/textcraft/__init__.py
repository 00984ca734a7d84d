"""TextCraft: crafting things by recipes, in text (the world of the ADaPT paper)."""

from planbook.envs.textcraft.environment import Textcraft

__all__ = ["Textcraft"]
