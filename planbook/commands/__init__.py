"""The commands. ``planbook.cli`` lists them, and loads the module of the one that is called.

- ``playing``: run, and what all commands that play share; ``preflight``: checks before a run begins;
  ``published``: settings and figures of papers (``--paper``, ``--table``); ``joining``: join
- ``building``: build, formulate, cost; ``testing``: test; ``effects``: effect; ``rulebook``: rules; ``demo``: demo
- ``rerunning``: replay, rerun, fork
- ``viewing``: show, report, watch, compare, stats; ``exchanging``: export, import, skills
- ``checking``: check, check-env, exec; ``inspection``: envs, planners, bench; ``serving``: mcp

The command `graph` is in ``planbook.graphs``.
"""
