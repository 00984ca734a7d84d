"""Export of episodes to files, and import of such files as runs.

An episode is written as its ``Trajectory`` (``planbook.planner.trajectory``), which has everything that happened in it.
``exporting`` writes files of episodes in JSON Lines or Parquet, or only the conversations with models. ``importing``
reads and checks such files, and makes a run from them. ``skills`` writes learned procedures as Agent Skills, and
verifies them again.
"""
