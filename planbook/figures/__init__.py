"""What does a run come to? Read from its store, whatever played.

``summary`` has it all, ``statistics`` the few that it needs. ``causes`` says why episodes were not solved, ``claims``
holds what was claimed against the world's verdict; ``milestones`` and ``measures`` are the world's. ``methods`` has the
figures of one kind of method each, ``comparison`` those of several runs. Each has a model for ``--json`` and the lines
that tell it.
"""
