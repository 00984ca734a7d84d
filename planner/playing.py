"""Play one episode to its end and record the ending."""

from contextlib import suppress
from pathlib import Path
from traceback import walk_tb

from pydantic import BaseModel

from planbook.envs import MissingRequirement
from planbook.planner.episode import Episode
from planbook.planner.errors import EpisodeBroken, EpisodeOver, ModelError
from planbook.planner.strategies.base import Strategy
from planbook.planner.types import Ending
from planbook.sandbox import SandboxClosed, WorkerFailed


def play(episode: Episode, strategy: Strategy, options: BaseModel) -> Ending:
    """Let a method play an episode. The ending is in the journal when this returns.

    A failure of the environment or the engine is an ending, too (BROKEN). Errors that leave the episode without an
    ending are raised: EpisodeStopped, BudgetEnded, JournalMismatch, JournalFailed, and those of a missing or failed
    resource (MissingRequirement, SandboxClosed, WorkerFailed, ModelError).
    """
    try:
        with suppress(EpisodeOver):
            episode.begin()
            strategy(episode, options)
        ending = episode.ending()
    except (MissingRequirement, SandboxClosed, WorkerFailed, ModelError):
        raise
    except EpisodeBroken as broken:
        ending = episode.broken(str(broken))
    except (Exception, SystemExit) as error:
        place = _place_of(error, strategy)
        ending = episode.broken(f"the planner raised {type(error).__name__}: {error}{place and f' ({place})'}")
    finally:
        episode.close()
    episode.write_ending(ending)
    return ending


def _place_of(error: BaseException, strategy: Strategy) -> str:
    """Return the innermost line of the method's own file in the traceback; empty if there is none."""
    file = getattr(getattr(strategy, "__code__", None), "co_filename", None)
    lines = [line for frame, line in walk_tb(error.__traceback__) if frame.f_code.co_filename == file]
    return f"{Path(file).name}:{lines[-1]}" if file and lines else ""
