"""The commands. ``planbook.cli`` lists them, and loads the module of the one that is called.

- ``playing``: run, and the common part of all commands that play; ``beforehand`` checks a run before it begins,
  ``published`` prints settings and figures of papers; ``joining``: join
- ``building``: build, formulate, cost; ``testing``: test; ``effects``: effect; ``rulebook``: rules; ``demo``: demo
- ``rerunning``: replay, rerun, fork
- ``looking``: show, report, watch, compare, stats; ``exchanging``: export, import, skills
- ``checking``: check, check-env, exec; ``inspection``: envs, planners, bench; ``serving``: mcp

`graph` is in ``planbook.graphs``.
"""
