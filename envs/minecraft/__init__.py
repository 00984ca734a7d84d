"""The Minecraft environment: the game as text, as in the DEPS paper, with the real recipes and our own maps.

Each action pursues a whole goal, such as mining three logs. The *horizon* of a goal is the time needed to reach it.

- ``environment``: the environment class, its options and its actions.
- ``tasks``: the tasks of the paper's groups, and tasks with several goals that can be reached in any order.
- ``game_data``: trees, animals and ores, and the tools they require; biomes; recipes; the paper's groups of tasks.
- ``terrain``: the map generated from a seed, the sources in sight from a place, and the duration of trips.
- ``player``: the player's state, the effects of goals on it, and their chances of success.
- ``goals``: the features of goals, for the selectors that choose the next goal, and their preconditions, for dry runs.
"""

from planbook.envs.minecraft import tasks
from planbook.envs.minecraft.environment import Minecraft, MinecraftOptions
from planbook.envs.minecraft.game_data import VERSION
from planbook.envs.minecraft.goals import HORIZONS_FILE

__all__ = ["HORIZONS_FILE", "VERSION", "Minecraft", "MinecraftOptions", "tasks"]
