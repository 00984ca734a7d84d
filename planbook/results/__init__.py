"""The results of runs: a table with a row for each episode, and the counts computed from it.

- ``table`` reads the events of a run, in one pass, into ``RunResults``. ``rows`` has ``Result``, the row of an episode.
- ``summary`` counts the episodes of a run by outcome, and the agents' claims about their tasks. ``matches`` counts how
  goals were matched with learned task types. ``measures`` averages the measures of environments and counts their
  milestones. Each planning method also computes statistics of its own (``planbook.planner.strategies.base``).
- ``rendering`` formats a summary as sentences and small tables, for the terminal and the report.
- ``learning_cost`` computes what learning costs, and whether it pays off.
- ``statistics`` has confidence intervals and significance tests.
"""
