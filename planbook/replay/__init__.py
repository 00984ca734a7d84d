"""Replaying recorded runs.

``replaying`` plays all episodes of a run again, ``comparing`` compares one with its recording, ``events`` puts events
into words.
"""

from planbook.replay.comparing import Comparison, Sameness, compared
from planbook.replay.events import IN_WORDS, describe
from planbook.replay.replaying import replay_run

__all__ = ["IN_WORDS", "Comparison", "Sameness", "compared", "describe", "replay_run"]
