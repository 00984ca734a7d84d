"""The tabletop environment of the DEPS paper, in text: a robot arm moves blocks, shapes and rings to their places.

- ``environment``: the environment class.
- ``scenes``: random scenes for the five task types, and the scores of tasks.
- ``table``: the things and places on a table, and the rules for moves.
- ``planning``: the goals for the planning method DEPS, and the preconditions of moves.
"""

from planbook.envs.tabletop.environment import Tabletop

__all__ = ["Tabletop"]
