"""What does a run know beforehand?

``state`` is what a building run knows after each episode; ``knowing`` makes a run's memory of it, or of a folder, under
the ``ablations`` that were asked for; ``once`` says that a run was learnt from already.
"""
