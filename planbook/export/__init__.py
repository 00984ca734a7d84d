"""Export of episodes to files, and import of such files as runs.

An episode is written as its ``Trajectory`` (``planbook.planner.trajectory``): ``files`` reads, writes and checks JSON
Lines and Parquet. ``exporting`` (which also writes conversations alone) and ``importing`` carry out the commands.
``skills`` writes learned procedures as Agent Skills, and reads their evidence.
"""
