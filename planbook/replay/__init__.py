"""Replaying recorded runs.

``replaying`` plays all episodes of a run again, ``comparing`` compares one with its recording, ``renaming`` tells
whether only the names of objects differ, ``events`` puts events into words.
"""
