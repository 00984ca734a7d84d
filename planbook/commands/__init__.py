"""What does each command do? The command line parses, and calls these; each prints, and answers an exit code.

``playing``: run, replay. ``replaying``: replay RUN. ``rerunning``: rerun. ``executing``: exec. ``building``: build,
formulate, test. ``inspection``: envs, check. ``checking_envs``: check-env. ``methods``: planners. ``rulebook``: rules.
``demo``: demo. ``comparing``: compare, stats. ``exchanging``: export, import. ``reporting``: report. ``showing``: show.
``watching``: watch.
``beforehand`` and ``beside`` are what several of them say before and after. The commands of prompt graphs, benchmarks
and costs are in packages of their own.
"""
