"""ADaPT, which decomposes a task into subtasks when its execution fails, and the baselines of the ADaPT paper.

- ``controller`` has ADaPT, its baselines, their options and ``METHODS``.
- ``executor`` lets a model work on one subtask. All of the methods share it.
- ``order`` reads a plan of subtasks that are combined by AND and OR.
"""
