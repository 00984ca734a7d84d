"""Compare runs with the results that papers published.

- ``published``: the tables and settings of the papers, as data.
- ``settings``: the settings for ``--paper``, and the differences between the settings of a run and a paper.
- ``comparison``: compares the results of a run with the tables.
- ``tables``: prints the comparison.
"""
