"""What does a run come to? Read from its store, whatever played.

``summary`` has it all, ``statistics`` the few that it needs, ``plays`` what is read of each episode. ``claims`` holds
what was claimed against the environment's verdict; ``milestones`` and ``measures`` are the environment's. Methods count
their own (``planbook.planner.strategies.figures``); ``comparison`` has the figures of several runs.
"""
