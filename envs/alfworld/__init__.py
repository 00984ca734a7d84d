"""ALFWorld: household tasks in text. A game runs in our fast engine or in textworld; tests verify that they agree.

- ``environment``: the environment class, its options and its actions.
- ``tasks``: the games that were downloaded, and the selections of games that papers use.
- ``generated``: games made from seeds, which need no download.
- ``rooms``: the furnished rooms of generated games.
- ``engine``: the interface of both engines, and the engine that calls textworld.
- ``direct``: the fast engine.
- ``scene``: the problem text of a game as data, for the fast engine.
- ``wording``: the sentences of the games, and their translation into the sentences of the AutoManual paper.
- ``goals``: the task types, and the goals that plans of the DEPS method name.
- ``preconditions``: what each action needs and changes.
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
