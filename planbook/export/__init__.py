"""Export of episodes to files, and import of such files as runs.

An episode is written as its ``Trajectory`` (``planbook.planner.trajectory``), which has everything that happened in it.
``files`` reads, writes and checks files of episodes: JSON Lines and Parquet. ``exporting`` and ``importing`` carry out
the commands; ``exporting`` can also write only the conversations with models. ``skills`` writes learned procedures as
Agent Skills, and verifies them again.
"""
