"""The tabletop environment of the DEPS paper, in text: a robot arm moves blocks, shapes and rings on a table.

- ``environment``: the environment class, and the goals for the planning method DEPS.
- ``table``: the things and places on a table, the rules for moves, the random scenes of tasks, and their scores.
"""

from planbook.envs.tabletop.environment import Tabletop

__all__ = ["Tabletop"]
