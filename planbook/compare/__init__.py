"""Comparisons of runs, from their tables of results.

- ``pairs``: compares two runs over the tasks that both have.
- ``differences``: the differences between two runs in settings, success, measures and costs, with their tests.
- ``groups``: the rows of a table with any number of runs, or groups of runs.
- ``tables``: shows comparisons and rows as tables and sentences.
- ``reruns``: compares a run with a run that repeats it, event by event.
- ``effects``: estimates the effect of each rule and skill from runs without it.
"""
