"""ALFWorld: household tasks in text. Our fast engine or textworld runs the games; tests verify that the two agree.

- ``environment``: the environment class, its options, its actions, and the goals for the planning method DEPS.
- ``tasks``: the lists of tasks (downloaded games, generated games, the selections of games that papers use), and the
  params in the goal sentences.
- ``generated``: the task types, and games that are made from seeds and need no download.
- ``engines``: the interface of both engines, the fast engine, and the engine that calls textworld.
- ``scene``: reads the problem text of a game, for the fast engine.
- ``wording``: the sentences of the games, and their translation into the sentences of the AutoManual paper.
- ``preconditions``: what each action needs, for dry runs of plans.
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
