"""Exports episodes to files, makes runs from such files, and exports learned procedures as Agent Skills.

An episode is written as its ``Trajectory`` (see ``planbook.planner.trajectory``), which contains everything that
happened in it. ``exporting`` writes files of episodes in JSON Lines or Parquet. ``conversations`` writes only the
conversations with models, for fine-tuning. ``importing`` reads and checks files of episodes, and makes a run from them.
``skills`` writes Agent Skills, and ``verification`` verifies them.
"""
