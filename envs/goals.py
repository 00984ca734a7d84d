"""The goals of an environment, among which the planning method DEPS selects the next one to pursue."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from planbook.envs.types import Action, ActionSpec

if TYPE_CHECKING:
    from planbook.envs.base import Environment

Features = Mapping[str, float | str]
"""Maps the name of each feature to its value. A feature is an observable property of a goal and the current state.

A value is a number or the name of a category. Selectors learn from features. All goals of an environment have the same
features."""


class Goals:
    """The goals of an environment. A DEPS plan is a set of goals whose order is not yet decided.

    A selector decides which goal is pursued next (section 3.3 of the paper). For example, it chooses the goal with the
    smallest *horizon*, the number of time steps that a goal takes. By default, every goal is one action that is
    possible at any time. Environments in which the order of goals matters override the members below.
    """

    direct = True
    """True if each goal is one action. False if a goal takes several actions, which a controller chooses."""

    def __init__(self, environment: "Environment") -> None:
        self.environment = environment

    @property
    def specs(self) -> Mapping[str, ActionSpec]:
        """The goals that plans may use: maps the name of each goal to its specification."""
        return self.environment.offer.actions

    def refusal(self, goal: Action) -> str:
        """Return the reason why the goal cannot be reached from the current state, or "" if it can."""
        return ""

    def is_open(self, goal: Action) -> bool:
        """Return whether everything that the plan says the goal requires is available.

        Requirements that the plan does not mention are ignored, even if the environment knows them.
        """
        return True

    def materials(self, goal: Action) -> Mapping[str, int]:
        """Return a dict that maps each material to the number that the goal uses up, according to the plan."""
        return {}

    def routes(self, goal: Action) -> Sequence[Action]:
        """Return this goal, followed by equivalent goals. For example, wood can come from several kinds of trees."""
        return (goal,)

    def features(self, goal: Action) -> Features:
        """Return the features from which a selector may predict the goal's horizon."""
        return {}

    def horizon(self, goal: Action) -> float:
        """Return the actual number of time steps from the current state to the goal. Plans never see it."""
        return 0.0

    def known(self) -> Sequence[Action]:
        """Return the goals among which to look for a substitute for an invalid line of a plan. By default none."""
        return ()

    def names(self, goal: Action) -> Sequence[str]:
        """Return other names for the object of a goal from ``known``. For example, "sheep" is another name for wool."""
        return ()

    def times(self, goal: Action, count: int) -> Action:
        """Return a goal from ``known`` with its count replaced by ``count``, or the same goal if it has no count."""
        return goal

    def recorded(self) -> Path | None:
        """Return the path of a CSV table of recorded goals, or None.

        Each row contains the features of a goal and, in the last column, its horizon. The command ``python -m
        tools.horizons TABLE`` trains regression trees on the table and saves them in the same folder. The selector
        called ``horizon`` uses these trees.
        """
        return None
