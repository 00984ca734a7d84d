"""The commands. ``command_line`` parses and calls these; each prints, and returns an exit code.

- ``playing``: run, join, and what is common to all that play; ``beforehand`` checks a run before it begins
- ``building``: build, formulate, test; ``effects``: effect; ``rulebook``: rules; ``demo``: demo
- ``rerunning``: replay RUN, rerun, fork
- ``looking``: show, report, watch, compare, stats; ``exchanging``: export, import, skills
- ``checking``: check, check-env, exec; ``inspection``: envs, planners, bench; ``serving``: mcp

The commands of prompt graphs and of cost are in packages of their own.
"""
