"""Python functions that graph files name as ``module.function``: compose, check and finish hooks that ship.

A hook of one's own is named ``FILE.py:function``, the file relative to the graph file.
"""
