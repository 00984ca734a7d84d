"""Whose fault an exception is, where the world was asked to do something."""

from collections.abc import Iterator
from contextlib import contextmanager

from envs import EnvsError
from planner.errors import EpisodeBroken


@contextmanager
def blaming_the_world(but: type[Exception] | tuple[()] = ()) -> Iterator[None]:
    """Whatever the world raises is not the plan's fault: it must not reach the plan as an exception."""
    try:
        yield
    except but:
        raise
    except EnvsError as error:
        raise EpisodeBroken(f"{type(error).__name__}: {error}") from error
    except Exception as error:
        raise EpisodeBroken(f"the world raised {type(error).__name__}: {error}") from error
