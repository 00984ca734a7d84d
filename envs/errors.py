"""Errors of the envs package, the place in an author's code that raised an error, and faults found by pydantic.

EnvsError
├── BadSelection        the requested tasks do not exist or cannot be read
├── UnknownEnvironment  no environment of that name
├── UnknownAction       the environment has no such action
├── MissingRequirement  data, a browser or a package is missing
├── EpisodeEnded        an action after the end, or before the beginning
├── Diverged            a repeated action had a different result
└── EnvironmentBroken   the environment itself failed (a browser died, a game file is damaged)
"""

import sysconfig
import traceback
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError

    from planbook.envs.types import Action, Observation


class EnvsError(Exception):
    """Base of this package's errors."""


class BadSelection(EnvsError):
    """The requested tasks do not exist or cannot be read; the message says what to correct."""


class UnknownEnvironment(EnvsError):
    """No environment of that name is registered."""


class UnknownAction(EnvsError):
    """The environment has no such action."""


class MissingRequirement(EnvsError):
    """Something the environment needs is missing on this machine; the message says how to get it."""


class EpisodeEnded(EnvsError):
    """An action was taken while no episode was running."""


class EnvironmentBroken(EnvsError):
    """The environment failed, not the plan: the episode counts as BROKEN."""


class Diverged(EnvsError):
    """A repeated action had a different result than the first time."""

    def __init__(self, number: int, action: "Action", expected: "Observation", actual: "Observation") -> None:
        self.number, self.action, self.expected, self.actual = number, action, expected, actual
        super().__init__(f"action {number}, {action}: expected {expected.text!r}, got {actual.text!r}")


_INSTALLED = (sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"))
_CALLERS = tuple(Path(__file__).with_name(name) for name in ("base.py", "selection.py"))
"""Files that call an author's code."""


def raised_at(error: BaseException, besides: Collection[Path] = ()) -> tuple[str, str]:
    """Return FILE:LINE of the innermost frame outside libraries, and the traceback from the outermost such frame on.

    Frames in planbook's own ``base.py`` and ``selection.py``, and in files directly in the folders ``besides``, are
    skipped. Both strings are empty if no frame is left.
    """
    frames = traceback.extract_tb(error.__traceback__)
    numbers = [
        number
        for number, frame in enumerate(frames)
        if Path(frame.filename) not in _CALLERS
        and Path(frame.filename).parent not in besides
        and not frame.filename.startswith(_INSTALLED)
    ]
    if not numbers:
        return "", ""
    last = frames[numbers[-1]]
    return f"{Path(last.filename).name}:{last.lineno}", "".join(traceback.format_list(frames[numbers[0] :])).rstrip()


def validation_faults(error: "ValidationError", whole: str = "") -> list[str]:
    """Return the faults that pydantic found, each as ``PLACE: PROBLEM``.

    ``whole`` is written as the place of a fault of the whole value, such as JSON that cannot be parsed.
    """
    placed = ((".".join(map(str, fault["loc"])) or whole, fault["msg"]) for fault in error.errors(include_input=False))
    problems = ((place, problem.removeprefix("Value error, ")) for place, problem in placed)
    return [f"{place}: {problem}" if place else problem for place, problem in problems]
