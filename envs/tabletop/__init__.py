"""The tabletop environment of DEPS: blocks, bowls, rings, kits and a box, moved by a robot arm, in words.

- ``environment``: the class. ``scenes``: the scenes of the five tasks, and their scores.
- ``table``: things, places, and the rules for moves. ``planning``: goals for a selector, and preconditions.
"""

from planbook.envs.tabletop.environment import Tabletop

__all__ = ["Tabletop"]
