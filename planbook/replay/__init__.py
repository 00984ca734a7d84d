"""Replay of recorded runs.

``replaying`` plays all episodes of a run again; ``comparing`` compares an episode with its recording, and describes
events in words.
"""

from typing import TYPE_CHECKING

from planbook import lazily

if TYPE_CHECKING:
    from planbook.replay.comparing import IN_WORDS, Comparison, Sameness, describe, describe_mismatch
    from planbook.replay.replaying import replay_run
else:
    __getattr__ = lazily(__name__)

__all__ = ["IN_WORDS", "Comparison", "Sameness", "describe", "describe_mismatch", "replay_run"]
