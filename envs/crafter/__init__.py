"""Crafter: survival and a tree of 22 achievements, told in words (the world of the AgentKit paper)."""

from envs.crafter.tasks import CrafterOptions
from envs.crafter.world import Crafter

__all__ = ["Crafter", "CrafterOptions"]
