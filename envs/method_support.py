"""Optional members of an environment that serve one planning method, in one mixin for each method."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Literal, cast

from planbook.envs.types import Action, ActionSpec

if TYPE_CHECKING:
    from planbook.envs.base import Environment

Features = Mapping[str, float | str]
"""What a selector can learn from about a goal: numbers, and words for kinds."""
"""What can be observed of a goal and of the current state; names and types are the same for all goals."""


class AutoManualSupport:
    """For AutoManual."""

    pauses: ClassVar[bool] = False
    """True if plans should stop in between and look, as on a page that shows its results only after an action."""


class AdaptSupport:
    """For ADaPT, and for the baseline of its paper."""

    hands_on: ClassVar[Literal["last action", "state", "note"]] = "last action"
    """What the executor of a subtask is given of the subtasks done before it (appendix A).

    "note" is the state and the final note of the last of them; the planner is then also told which subtasks failed.
    """
    naive: ClassVar[str] = ""
    """Plan code for the method ``naive``: it plays any task without thinking, as a baseline (appendix D)."""


class AdvocateSupport:
    """For Devil's Advocate."""

    answering: ClassVar[str] = ""
    """The action that ends an episode with an answer, such as ``stop``; empty if nothing has to be answered."""


class DepsSupport:
    """For DEPS."""

    @property
    def goals(self) -> "Goals":
        """The goals that plans may name, and what a selector may ask about them."""
        return Goals(cast("Environment", self))


class Goals:
    """The goals of an environment (DEPS, section 3.3): what a plan wants done, before the order is decided.

    By default every goal is one action, possible at any time. An environment in which order matters overrides what it
    knows better.
    """

    direct = True
    """True if a goal is one action. Otherwise a controller has to reach it, action by action."""

    def __init__(self, environment: "Environment") -> None:
        self.environment = self.world = environment  # ``world`` is the name before 0.2

    @property
    def specs(self) -> Mapping[str, ActionSpec]:
        """The goals that plans may name, by name."""
        return self.environment.offer.actions

    def refusal(self, goal: Action) -> str:
        """Return why the goal cannot be reached from the current state; empty if it can."""
        return ""

    def is_open(self, goal: Action) -> bool:
        """Return whether everything that the goal itself states as needed is available.

        What only the environment knows does not count.
        """
        return True

    def materials(self, goal: Action) -> Mapping[str, int]:
        """Return what the goal itself states that it uses up, by kind."""
        return {}

    def routes(self, goal: Action) -> Sequence[Action]:
        """Return the goals that serve as well as this one, itself first: any kind of tree gives wood."""
        return (goal,)

    def features(self, goal: Action) -> Features:
        """Return what the agent can observe that may tell how far the goal is."""
        return {}

    def horizon(self, goal: Action) -> float:
        """Return the number of time steps that reaching the goal takes from here. Plans never see it."""
        return 0.0

    def known(self) -> Sequence[Action]:
        """Return the goals that a line of a plan may be matched to if it is no valid call; none by default."""
        return ()

    def names(self, goal: Action) -> Sequence[str]:
        """Return other names for the object of a known goal, such as the animal that wool comes from."""
        return ()

    def times(self, goal: Action, count: int) -> Action:
        """Return a known goal for this many of its object; the goal itself if nothing is counted."""
        return goal

    def recorded(self) -> Path | None:
        """Return a CSV table of recorded goals to learn horizons from: the features, then the horizon."""
        return None
