"""An environment of web pages: any address in a real Chromium, read as an accessibility tree.

- ``environment``: the environment's class, its options and its episodes. ``actions``: what an agent can do.
- ``tasks``: tasks and task files in our format. ``webarena``: the task files and logins of the WebArena benchmark.
  ``judging``: decides whether a task of either kind is solved.
- ``addresses``: the rules for which addresses a browser may visit.
- ``sites``: runs our own site, the issue tracker Trac, on this machine. ``trac_seed`` creates its content, and
  ``trac_server`` serves it.
- ``context``: a group of tabs with their own cookies, and the browser's events. ``traffic``: the requests that a tab
  waits for. ``tab``: mouse, keyboard and navigation in one tab. ``tabs``: all tabs of an episode.
- ``accessibility``: builds the accessibility tree of a page. ``page``: reads a page and renders it as text.
"""

from planbook.envs.web.environment import Web, WebOptions

__all__ = ["Web", "WebOptions"]
