"""What a planning method is: a plain function over the verbs of an episode."""

from dataclasses import dataclass
from typing import Protocol

from pydantic import BaseModel, ConfigDict

from planner.episode import Episode


class Strategy(Protocol):
    """Plays one episode. Returning means that nothing more is tried; EpisodeOver, raised by the verbs, unwinds it."""

    def __call__(self, episode: Episode, options: BaseModel, /) -> None:
        """Play until the task is given up."""


class Options(BaseModel):
    """The options of a method; this one has none."""

    model_config = ConfigDict(frozen=True, extra="forbid")


@dataclass(frozen=True)
class Method:
    """A strategy with the model of its options, the line that the command line shows, and the roles that it asks."""

    play: Strategy
    options: type[Options]
    summary: str
    roles: tuple[str, ...] = ()
