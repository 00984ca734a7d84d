"""An environment of web pages: any address in a real Chromium, read as an accessibility tree.

- ``environment``: the environment's class, its options and its episodes. ``actions``: what an agent can do.
- ``tasks``: tasks and task files in our format. ``webarena``: the task files and logins of the WebArena benchmark.
  ``judging``: decides whether a task of either kind is solved.
- ``sites``: the rules for which addresses a browser may visit, and our own site, the issue tracker Trac.
  ``trac_process``: creates and serves that site in a process of its own.
- ``context``: a group of tabs with their own cookies, and the browser's events. ``tabs``: mouse, keyboard and
  navigation in one tab, and all tabs of an episode.
- ``accessibility``: builds the accessibility tree of a page. ``page``: reads a page and renders it as text.
"""

from planbook.envs.web.environment import Web, WebOptions

__all__ = ["Web", "WebOptions"]
