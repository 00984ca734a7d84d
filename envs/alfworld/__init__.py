"""ALFWorld, with two engines: a fast one of our own and textworld, which it is proved equal to."""

from planbook.envs.alfworld.environment import Alfworld, AlfworldOptions

__all__ = ["Alfworld", "AlfworldOptions"]
