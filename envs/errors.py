"""Everything the envs package raises.

EnvsError
├── BadSelection        the tasks asked for do not exist
├── UnknownWorld        no world of that name
├── UnknownAction       the world has no such action
├── MissingRequirement  data, a browser or a package is not there
├── EpisodeEnded        an action after the end, or before the beginning
├── Diverged            a walked-again action was answered differently
└── WorldBroken         the world itself failed (a browser died, a game file is damaged)
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from planbook.envs.types import Action, Observation


class EnvsError(Exception):
    """Base of this package's errors."""


class BadSelection(EnvsError):
    """The tasks asked for do not exist; the message names what does."""


class UnknownWorld(EnvsError):
    """No world of that name is registered."""


class UnknownAction(EnvsError):
    """The world has no such action."""


class MissingRequirement(EnvsError):
    """Something the world needs is not on this machine; the message says how to get it."""


class EpisodeEnded(EnvsError):
    """An action was tried when no episode was running."""


class WorldBroken(EnvsError):
    """The world failed, not the plan: the episode counts as BROKEN."""


class Diverged(EnvsError):
    """A walked-again action was answered differently than the first time."""

    def __init__(self, number: int, action: "Action", expected: "Observation", actual: "Observation") -> None:
        self.number, self.action, self.expected, self.actual = number, action, expected, actual
        super().__init__(f"action {number}, {action}: expected {expected.text!r}, got {actual.text!r}")
