"""Rounds of Devil's Advocate and of what it is compared with: plan, play, look back, plan anew (section 3.3.3)."""

from collections.abc import Callable

from planbook.planner.episode import Episode
from planbook.planner.errors import EpisodeOver
from planbook.planner.strategies.advocate.counsel import Past
from planbook.planner.strategies.advocate.notes import Notes
from planbook.planner.strategies.advocate.options import AdvocateOptions
from planbook.planner.strategies.advocate.playing import HELD_COMPLETE, Playing
from planbook.planner.strategies.base import in_rounds, told_task

NOTHING_LEFT = "Of all that was thought of, nothing is left to try."


def play_rounds(
    episode: Episode, options: AdvocateOptions, play: Callable[[Playing], None], *, reflects: bool = True
) -> None:
    """Plan and play, up to so many rounds; each plan but the first is made from what was learnt in those before.

    Without reflection each round knows nothing of the others. A round that ends because the task is held to be
    complete, or answered, is the last one, unless the options say otherwise.
    """
    earlier: list[Past] = []
    notes = Notes()

    def play_one(number: int) -> None:
        kept = notes if reflects else Notes()
        with episode.frame("act", kept.functions(episode), episode.recall().helpers, task=told_task(episode)) as frame:
            playing = Playing(episode, frame, options, kept, number)
            if not playing.plan(earlier if reflects else (), revision=bool(earlier)):
                return
            try:
                play(playing)
            except EpisodeOver as over:
                earlier.append(playing.end(str(over)))
                if _answered(episode) and not options.until_solved:
                    raise EpisodeOver(HELD_COMPLETE) from over
                raise
            earlier.append(playing.end(NOTHING_LEFT))

    in_rounds(episode, options.rounds, play_one)


def _answered(episode: Episode) -> bool:
    """Whether the world's episode ended in an answer."""
    return episode.world.ended and episode.steps[-1].action.name == episode.world.answering
