"""What does each command do? The command line parses, and calls these; each prints, and answers an exit code.

``playing``: run, replay, exec. ``building``: build, formulate, test. ``inspection``: envs, check. ``methods``:
planners. ``rulebook``: rules. ``demo``: demo. ``beforehand`` and ``beside`` are what several of them say before and
after. The commands of prompt graphs, reports, benchmarks and costs are in packages of their own.
"""
