"""Crafter: survival and a tree of 22 achievements, told in words (the world of the AgentKit paper)."""

from planbook.envs.crafter.tasks import CrafterOptions
from planbook.envs.crafter.world import Crafter

__all__ = ["Crafter", "CrafterOptions"]
