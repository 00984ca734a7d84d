"""The results of runs: a table with a row for each episode, and counts over it.

``table`` reads a run, with the cost of each step of building, into ``RunResults`` in one pass over its events; ``rows``
has the row of an episode, ``Result``. ``summary`` counts a run's rows, with the claims that agents made, the
``matches`` of goals with found types, and the ``measures`` and milestones of environments; methods count their own
figures (``planbook.planner.strategies.base``). ``telling`` writes all of it in sentences and small tables, for the
terminal and the report. ``learning_cost`` has the cost of building, and whether it pays off. ``statistics``
has the intervals and tests.
"""
