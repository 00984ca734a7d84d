"""MiniWoB++: small web pages in a real Chromium."""

from planbook.envs.miniwob.environment import Miniwob

__all__ = ["Miniwob"]
