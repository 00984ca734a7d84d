"""The figures of papers, and the comparison of runs with them.

``published`` has the papers' tables and settings; ``settings`` has the settings of ``--paper``, and the differences
between a run and a paper's setting. ``comparison`` compares a run with the tables; ``tables`` prints the comparison.
"""
