"""The errors of the envs package, and functions that say where an error was raised and what pydantic found wrong.

EnvsError
├── BadSelection        the requested tasks do not exist or cannot be read
├── UnknownEnvironment  no environment of that name
├── UnknownAction       the environment has no such action
├── MissingRequirement  data, a browser or a package is missing
├── EpisodeEnded        an action before the start or after the end of an episode
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
    """The requested tasks do not exist or cannot be read. The message says what to correct."""


class UnknownEnvironment(EnvsError):
    """No environment of that name is registered."""


class UnknownAction(EnvsError):
    """The environment has no such action."""


class MissingRequirement(EnvsError):
    """Something that the environment needs is not on this machine. The message says how to get it."""


class EpisodeEnded(EnvsError):
    """An action was taken while no episode was running."""


class EnvironmentBroken(EnvsError):
    """The environment failed, not the plan. The episode ends with the outcome BROKEN."""


class Diverged(EnvsError):
    """An action that was repeated had a different result than before."""

    def __init__(self, number: int, action: "Action", expected: "Observation", actual: "Observation") -> None:
        self.number, self.action, self.expected, self.actual = number, action, expected, actual
        super().__init__(f"action {number}, {action}: expected {expected.text!r}, got {actual.text!r}")


_INSTALLED = (sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"))
_CALLERS = tuple(Path(__file__).with_name(name) for name in ("base.py", "selection.py"))
"""Files of planbook that call an author's code."""


def error_location(error: BaseException, skipped_folders: Collection[Path] = ()) -> tuple[str, str]:
    """Return where an author's code raised an error, as FILE:LINE, and the traceback of that code.

    The author wrote an environment, a judge or a planning method. All code counts as the author's, except the standard
    library, installed packages, ``base.py``, ``selection.py`` and files directly in ``skipped_folders``. FILE:LINE is
    the innermost line of this code; the traceback begins at the outermost. Both strings are empty if the traceback of
    the error contains no line of this code.
    """
    frames = traceback.extract_tb(error.__traceback__)
    numbers = [
        number
        for number, frame in enumerate(frames)
        if Path(frame.filename) not in _CALLERS
        and Path(frame.filename).parent not in skipped_folders
        and not frame.filename.startswith(_INSTALLED)
    ]
    if not numbers:
        return "", ""
    last = frames[numbers[-1]]
    return f"{Path(last.filename).name}:{last.lineno}", "".join(traceback.format_list(frames[numbers[0] :])).rstrip()


def validation_faults(error: "ValidationError", root: str = "") -> list[str]:
    """Return the faults that pydantic found in a value, each as ``PLACE: PROBLEM``.

    PLACE is ``root`` if the fault concerns the whole value, such as JSON that cannot be parsed.
    """
    placed = ((".".join(map(str, fault["loc"])) or root, fault["msg"]) for fault in error.errors(include_input=False))
    problems = ((place, problem.removeprefix("Value error, ")) for place, problem in placed)
    return [f"{place}: {problem}" if place else problem for place, problem in problems]
