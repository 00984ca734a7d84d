"""The environment Minecraft: the game in words, as in the DEPS paper, with the real recipes and with our own maps.

Each action pursues a whole goal, such as mining three logs. The *horizon* of a goal is the time that it takes to reach
the goal.

- ``environment``: the environment's class, its options and its actions.
- ``tasks``: the tasks of the paper's groups, and tasks with several goals that can be reached in any order.
- ``game_data``: trees, animals and ores with the tools that they need; biomes; recipes.
- ``terrain``: the map of a seed, what the player sees at a place, and how long a trip takes.
- ``player``: the player's state, how goals change it, why goals are refused, and how likely they are to succeed.
- ``goals``: describes goals for selectors, which choose the next goal, and states their preconditions for dry runs.
"""

from planbook.envs.minecraft import tasks
from planbook.envs.minecraft.environment import Minecraft, MinecraftOptions
from planbook.envs.minecraft.game_data import VERSION
from planbook.envs.minecraft.goals import RECORDED

__all__ = ["RECORDED", "VERSION", "Minecraft", "MinecraftOptions", "tasks"]
