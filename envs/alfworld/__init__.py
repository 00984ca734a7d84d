"""ALFWorld, with two engines: our fast one, and textworld. Tests verify that they agree.

- ``environment``: the class, its options and actions.
- ``tasks``: downloaded games and named selections. ``generated`` makes games from seeds; ``rooms`` furnishes them.
- ``engine``: the engines' interface, and textworld. ``direct``: the fast engine; ``scene``: its reader of games.
- ``wording``: the sentences of the game and of the paper.
- ``goals``: task types, and the goals of DEPS. ``preconditions``: what actions need.
"""

from planbook.envs.alfworld import generated, tasks
from planbook.envs.alfworld.direct import DirectEngine
from planbook.envs.alfworld.engine import AlfworldGame, GameEngine, ReferenceEngine
from planbook.envs.alfworld.environment import Alfworld, AlfworldOptions
from planbook.envs.alfworld.goals import TYPES

__all__ = [
    "TYPES",
    "Alfworld",
    "AlfworldGame",
    "AlfworldOptions",
    "DirectEngine",
    "GameEngine",
    "ReferenceEngine",
    "generated",
    "tasks",
]
