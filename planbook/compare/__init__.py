"""Comparisons of runs.

``gathering`` reads a run once for all of it, ``settings`` says in which settings runs differ. ``pairs`` holds two runs
against each other over the same tasks: by the ``difference`` in what was solved, by what is ``measured`` beside it and
by ``costs``, with intervals by ``ratios`` and the ``caveats`` that a reader must know; ``pair_tables`` tells it.
``groups`` has any number of runs as rows; ``group_tables`` tells these.
"""
