"""The web environment. A real Chromium opens any address, and the agent reads pages as accessibility trees.

- ``environment``: the environment class, its options and its episodes. ``actions``: the actions of the agent.
- ``tasks``: tasks and task files in planbook's format. ``webarena``: the task files and logins of the WebArena
  benchmark. ``judging``: the verdict on a task in either format.
- ``sites``: the policy that says which addresses may be visited, and our own site, the issue tracker Trac.
  ``trac_process``: creates and serves that site in a separate process.
- ``context``: a group of tabs with their own cookies, and the browser's events about these tabs. ``tabs``: mouse,
  keyboard and navigation in one tab, and the list of all tabs of an episode.
- ``accessibility``: builds the accessibility tree of a page. ``page``: reads a page and renders it as text.
"""

from planbook.envs.web.environment import Web, WebOptions

__all__ = ["Web", "WebOptions"]
