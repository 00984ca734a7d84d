"""Whose fault an exception is, where the world was asked to do something."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from planbook.envs import EnvsError, raised_at
from planbook.planner.errors import EpisodeBroken

_OURS = Path(__file__).parent


@contextmanager
def blaming_the_world(but: type[Exception] | tuple[()] = ()) -> Iterator[None]:
    """Turn what the environment raises into EpisodeBroken: it is not the plan's fault, and must not reach the plan.

    The first line of the message says where it was raised; the traceback follows.
    """
    try:
        yield
    except but:
        raise
    except EnvsError as error:
        raise EpisodeBroken(f"{type(error).__name__}: {error}") from error
    except (Exception, SystemExit) as error:
        place, trace = raised_at(error, besides=[_OURS])
        told = f"the world raised {type(error).__name__}: {error}"
        raise EpisodeBroken(f"{told} ({place})\n{trace}" if place else told) from error
