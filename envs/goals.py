"""Goals: what a plan wants done, before anyone decides in which order (DEPS, section 3.3)."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from planbook.envs.types import Action, ActionSpec

if TYPE_CHECKING:
    from planbook.envs.base import Environment

Features = Mapping[str, float | str]
"""What can be seen of a goal and of the state it is to be reached from; names and kinds are the same for all goals."""


class Goals:
    """What a selector may ask of a world about goals. Here every goal is one action, possible at any time.

    A world in which order matters overrides what it knows better.
    """

    direct = True
    """Whether a goal is one action of the world. Otherwise a controller has to reach it, action by action."""

    def __init__(self, world: "Environment") -> None:
        self.world = world

    @property
    def specs(self) -> Mapping[str, ActionSpec]:
        """The goals that plans may name, by name."""
        return self.world.offer.actions

    def refusal(self, goal: Action) -> str:
        """Why the goal cannot be reached from the present state; empty if it can."""
        return ""

    def is_open(self, goal: Action) -> bool:
        """Return whether what the goal itself says that it takes is at hand; the world's own knowledge stays out."""
        return True

    def materials(self, goal: Action) -> Mapping[str, int]:
        """Return what the goal itself says that it uses up, by kind."""
        return {}

    def routes(self, goal: Action) -> Sequence[Action]:
        """The goals that serve as well as this one, itself first: any kind of tree gives wood."""
        return (goal,)

    def features(self, goal: Action) -> Features:
        """What the agent can see that may tell how far the goal is."""
        return {}

    def horizon(self, goal: Action) -> float:
        """How many time steps reaching the goal takes from here. The world's own knowledge: no plan is told."""
        return 0.0

    def known(self) -> Sequence[Action]:
        """The goals that a plan's line may be taken for where it is no valid call; here none."""
        return ()

    def names(self, goal: Action) -> Sequence[str]:
        """What a line may call the object of a known goal besides its name: the animal that wool is from."""
        return ()

    def times(self, goal: Action, count: int) -> Action:
        """A known goal for so many of its object; the goal itself where nothing is counted."""
        return goal

    def recorded(self) -> Path | None:
        """A table of recorded goals, to learn horizons from: CSV, the features and, as last column, the horizon."""
        return None
