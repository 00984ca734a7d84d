"""Web pages: any address in a real Chromium, read as an accessibility tree.

- ``environment``: the class, its options and episodes. ``actions``: the actions of an agent.
- ``tasks``: our task files. ``webarena`` reads WebArena's, with their logins; ``judging`` judges both.
- ``addresses``: the addresses that a browser may visit. ``sites``: Trac, served on loopback by ``trac_server`` from a
  project that ``trac_seed`` creates.
- ``context``: browser contexts and their events; ``traffic``: the requests that a tab waits for; ``tab``: acting in one
  tab; ``tabs``: all tabs of an episode.
- ``accessibility``: the tree of a page; ``page``: reading a page, and its text.
"""

from planbook.envs.web.environment import Web, WebOptions

__all__ = ["Web", "WebOptions"]
