"""Crafter: survival and a tree of 22 achievements, told in words (the world of the AgentKit paper)."""

from planbook.envs.crafter.environment import Crafter, CrafterOptions

__all__ = ["Crafter", "CrafterOptions"]
