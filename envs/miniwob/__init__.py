"""MiniWoB++: small web pages in a real Chromium."""

from planbook.envs.miniwob.world import Miniwob

__all__ = ["Miniwob"]
