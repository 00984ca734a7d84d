"""`planbook graph`: files of prompts that build on each other, and are run without writing code.

``commands`` has the subcommands, and ``running`` runs a graph and records it in a run's folder. ``new.yaml`` is the
example that ``planbook graph new`` writes.
"""
