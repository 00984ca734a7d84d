"""What do the charts of a page show?

``chosen`` says which there are, of one run or of several: ``bars``, ``curves``, and those of a ``building`` run. Each
is a ``chart``: what the drawing ``library`` is told, and the same numbers as a table; ``shares`` have intervals.
"""
