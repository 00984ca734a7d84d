"""The commands. ``command_line`` parses options and calls these functions, which print and return an exit code.

- ``playing``: run, join, and the common part of all commands that play; ``beforehand`` checks a run before it begins
- ``building``: build, formulate, test; ``effects``: effect; ``rulebook``: rules; ``demo``: demo
- ``rerunning``: replay RUN, rerun, fork
- ``looking``: show, report, watch, compare, stats; ``exchanging``: export, import, skills
- ``checking``: check, check-env, exec; ``inspection``: envs, planners, bench; ``serving``: mcp

`graph` is in ``planbook.graphs``, and `cost` in ``planbook.learning``.
"""
