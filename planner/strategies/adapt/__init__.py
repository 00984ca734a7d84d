"""ADaPT, which decomposes tasks when execution fails, and its baselines. All use the same executor.

``controller`` holds ADaPT, the baselines and their ``METHODS``, ``order`` reads a planner's And/Or plan, ``executor``
works on one subtask.
"""
