"""ALFWorld: household tasks in text. A game runs in our fast engine or in textworld; tests verify that they agree.

- ``environment``: the environment class, its options and its actions.
- ``tasks``: the games that were downloaded, the selections of games that papers use, and the goals of games.
- ``generated``: the task types, and games made from seeds, which need no download.
- ``engines``: the interface of both engines, the fast engine, and the engine that calls textworld.
- ``scene``: the problem text of a game as data, for the fast engine.
- ``wording``: the sentences of the games, and their translation into the sentences of the AutoManual paper.
- ``planning``: the preconditions of actions, and the goals for the planning method DEPS.
"""

from planbook.envs.alfworld import generated, tasks
from planbook.envs.alfworld.engines import AlfworldGame, DirectEngine, GameEngine, ReferenceEngine
from planbook.envs.alfworld.environment import Alfworld, AlfworldOptions
from planbook.envs.alfworld.generated import TYPES

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
