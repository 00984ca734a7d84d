"""The environment MiniWoB++: small web pages in a real Chromium, each with one task.

- ``environment``: the environment's class, its 53 task types, its options and its actions.
- ``tab``: the browser tab in which a page is shown. The script ``page.js`` runs inside the pages.
"""

from planbook.envs.miniwob.environment import Miniwob, MiniwobOptions, page_address

__all__ = ["Miniwob", "MiniwobOptions", "page_address"]
