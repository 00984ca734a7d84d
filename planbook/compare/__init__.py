"""Comparisons of runs, from their tables of results.

``pairs`` compares two runs over the same tasks, by their ``differences`` in settings, success, measures and costs;
``groups`` has a row for each of any number of runs. ``tables`` shows all of it. ``reruns`` compares a run with one that
repeats it, event by event. ``effects`` estimates the effects of single rules and skills, from runs without each.
"""
