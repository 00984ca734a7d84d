"""The tabletop world of DEPS: blocks, bowls, rings, kits and a box, moved by a robot arm, in words."""

from planbook.envs.tabletop.environment import Tabletop

__all__ = ["Tabletop"]
