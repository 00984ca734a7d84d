"""The shipped hooks (compose, check and finish), which graph files name as ``module.function``.

Your own hooks are named ``FILE.py:function``, with a path relative to the graph file.
"""
