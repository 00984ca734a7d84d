"""How do episodes leave a run as files that others read, and how do others' come in?

An episode is written as its ``Trajectory`` (``planbook.planner.trajectory``); ``faults`` says what can be wrong with
one. ``jsonl`` and ``parquet`` are its two ``files``; ``chat`` tells the conversations alone. ``exporting`` and
``importing`` string these together.
"""
