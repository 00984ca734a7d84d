"""The tabletop environment of the DEPS paper, in text: a robot arm moves blocks, shapes and rings to their places.

- ``environment``: the environment class, the goals for the planning method DEPS, and the preconditions of moves.
- ``table``: the things and places on a table, the rules for moves, and the random scenes and scores of tasks.
"""

from planbook.envs.tabletop.environment import Tabletop

__all__ = ["Tabletop"]
