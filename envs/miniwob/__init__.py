"""The environment MiniWoB++: small web pages in a real Chromium, each with one task.

- ``environment``: the environment's class, its options and actions.
- ``task_types``: the 53 types of tasks, and the parsing of goals into params.
- ``tab``: the browser tab in which a page is shown. The script ``page.js`` runs inside the pages.
"""

from planbook.envs.miniwob import task_types
from planbook.envs.miniwob.environment import Miniwob, MiniwobOptions

__all__ = ["Miniwob", "MiniwobOptions", "task_types"]
