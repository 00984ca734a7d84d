"""The MiniWoB++ environment: small web pages in a real Chromium, each with one task.

- ``environment``: the environment class, its 53 task types, its options and its actions.
- ``tab``: the browser tab that shows a page. The script ``page.js`` runs inside the pages.
"""

from planbook.envs.miniwob.environment import Miniwob, MiniwobOptions, page_address

__all__ = ["Miniwob", "MiniwobOptions", "page_address"]
