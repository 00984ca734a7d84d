"""Minecraft in text, the environment of the DEPS paper: real recipes, and our maps by seed.

- ``environment``: the class, its options and actions. ``tasks``: the paper's groups, and parallel goals.
- ``game_data``: sources, tools, biomes and recipes. ``terrain``: the map of a seed, sight and ways.
- ``actions``: the effects of a goal, or why it cannot be reached. ``player``: the player's state.
- ``planning``: goals for a selector, and preconditions. ``recording`` makes the goals that horizons are learned from.
"""

from planbook.envs.minecraft import tasks
from planbook.envs.minecraft.environment import Minecraft, MinecraftOptions
from planbook.envs.minecraft.game_data import VERSION
from planbook.envs.minecraft.planning import RECORDED

__all__ = ["RECORDED", "VERSION", "Minecraft", "MinecraftOptions", "tasks"]
