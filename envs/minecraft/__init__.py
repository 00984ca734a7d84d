"""The environment Minecraft: the game in words, after the DEPS paper, with the real recipes and with our own maps.

An action is a whole goal, such as mining three logs. The *horizon* of a goal is the time that it takes to reach it.

- ``environment``: the environment's class, its options and actions.
- ``tasks``: the tasks of the paper's groups, and tasks with several goals that can be reached in any order.
- ``game_data``: what can be mined and killed, with which tools; biomes and recipes.
- ``terrain``: the map that belongs to a seed, what the player sees there, and how long travelling takes.
- ``player``: the player's state, the effects of a goal on it, and why or how often goals fail.
- ``planning``: describes goals for selectors, which choose between goals, and for the dry run of plans.
- ``recording``: plays the game to record the goals from which horizons are learned.
"""

from planbook.envs.minecraft import tasks
from planbook.envs.minecraft.environment import Minecraft, MinecraftOptions
from planbook.envs.minecraft.game_data import VERSION
from planbook.envs.minecraft.planning import RECORDED

__all__ = ["RECORDED", "VERSION", "Minecraft", "MinecraftOptions", "tasks"]
