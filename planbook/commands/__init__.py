"""The commands. ``planbook.cli`` lists them, and loads the module of the one that is called.

- ``playing``: run, join, and what all commands that play share
- ``testing``: test, demo; ``learning``: build, formulate, cost, rules, effect
- ``rerunning``: replay, rerun, fork
- ``viewing``: show, report, watch, compare, stats
- ``exchanging``: export, import, skills, mcp
- ``checking``: check, check-env, exec; ``inspection``: envs, planners, bench

The command `graph` is in ``planbook.graphs``.
"""
