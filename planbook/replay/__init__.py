"""Replaying recorded runs.

``replaying`` plays all episodes of a run again; ``comparing`` compares one with its recording, and puts events into
words.
"""

from planbook.replay.comparing import IN_WORDS, Comparison, Sameness, compared, describe
from planbook.replay.replaying import replay_run

__all__ = ["IN_WORDS", "Comparison", "Sameness", "compared", "describe", "replay_run"]
