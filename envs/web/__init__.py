"""Web pages: any address in a real Chromium, read as an accessibility tree.

- ``environment``: the class, its options and episodes. ``actions``: what an agent can do.
- ``tasks``: our task files. ``webarena`` reads WebArena's, with their logins; ``judging`` judges both.
- ``addresses``: where a browser may go. ``sites``: Trac, run on loopback by ``trac_server`` from ``trac_seed``.
- ``context``: browser contexts and events; ``traffic``: what a tab waits for; ``tab``: acting in one tab;
  ``tabs``: all tabs of an episode.
- ``accessibility``: the tree of a page; ``page``: reading a page, and writing it as text.
"""

from planbook.envs.web.environment import Web, WebOptions

__all__ = ["Web", "WebOptions"]
