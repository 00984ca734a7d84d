"""MiniWoB++: small web pages in a real Chromium.

- ``environment``: the class, its options and actions. ``task_types``: the 53 types, and the params of goals.
- ``tab``: one tab of the browser; ``page.js`` runs in its pages.
"""

from planbook.envs.miniwob import task_types
from planbook.envs.miniwob.environment import Miniwob, MiniwobOptions

__all__ = ["Miniwob", "MiniwobOptions", "task_types"]
