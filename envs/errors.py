"""The errors of the envs package, and functions that handle and describe errors.

EnvsError
├── BadSelection        the selected tasks do not exist, or their files cannot be read
├── UnknownEnvironment  no environment has the given name, or it cannot be loaded
├── UnknownAction       the environment does not offer the action
├── MissingRequirement  data, a browser or a package is missing
├── EpisodeEnded        an action was taken before the start or after the end of an episode
├── Diverged            a repeated action gave a result that differs from the earlier one
└── EnvironmentBroken   the environment itself failed (a browser died, a game file is damaged)
"""

import sysconfig
import traceback
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pydantic import ValidationError

    from planbook.envs.types import Action, Observation


class EnvsError(Exception):
    """The base class of this package's errors."""


class BadSelection(EnvsError):
    """The selected tasks do not exist, or their files cannot be read. The message says what to correct."""


class UnknownEnvironment(EnvsError):
    """No environment has the given name, or the environment cannot be loaded."""


class UnknownAction(EnvsError):
    """The environment does not offer the action."""


class MissingRequirement(EnvsError):
    """A package, a program or data that the environment needs is missing. The message says how to get it."""


class EpisodeEnded(EnvsError):
    """An action was taken while no episode was running."""


class EnvironmentBroken(EnvsError):
    """The environment failed, not the plan. The episode ends with the outcome BROKEN."""


@contextmanager
def closing_if_broken(close: Callable[[], None]) -> Iterator[None]:
    """Call ``close`` if the block raises EnvironmentBroken."""
    try:
        yield
    except EnvironmentBroken:
        close()
        raise


class Diverged(EnvsError):
    """A repeated action gave a result that differs from the earlier one."""

    def __init__(self, number: int, action: "Action", expected: "Observation", actual: "Observation") -> None:
        self.number, self.action, self.expected, self.actual = number, action, expected, actual
        super().__init__(f"action {number}, {action}: expected {expected.text!r}, got {actual.text!r}")


_INSTALL_FOLDERS = (sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"))
_CALLER_FILES = tuple(Path(__file__).with_name(name) for name in ("base.py", "selection.py"))
"""Files of planbook that call an author's code. Their lines are not counted as the author's."""


def error_location(error: BaseException, skipped_folders: Collection[Path] = ()) -> tuple[str, str]:
    """Return the place where an author's code raised an error, as FILE:LINE, and the traceback of the author's code.

    The author is a person who wrote an environment, a judge or a planning method. All code counts as the author's,
    except the standard library, installed packages, ``base.py``, ``selection.py`` and the files directly in
    ``skipped_folders``. FILE:LINE is the author's innermost line in the traceback. The returned traceback begins at the
    author's outermost line. Both strings are empty if no line in the traceback is the author's.
    """
    frames = traceback.extract_tb(error.__traceback__)
    author_indices = [
        index
        for index, frame in enumerate(frames)
        if Path(frame.filename) not in _CALLER_FILES
        and Path(frame.filename).parent not in skipped_folders
        and not frame.filename.startswith(_INSTALL_FOLDERS)
    ]
    if not author_indices:
        return "", ""
    first, innermost = author_indices[0], frames[author_indices[-1]]
    place = f"{Path(innermost.filename).name}:{innermost.lineno}"
    return place, "".join(traceback.format_list(frames[first:])).rstrip()


def validation_faults(error: "ValidationError", root: str = "") -> list[str]:
    """Return the faults that pydantic found in a value, each as ``PLACE: PROBLEM``, such as ``tasks.0.goal: ...``.

    For a fault of the whole value, such as JSON that cannot be parsed, PLACE is the argument ``root``. If ``root`` is
    empty, only PROBLEM is returned.
    """
    faults = []
    for fault in error.errors(include_input=False):
        place, problem = ".".join(map(str, fault["loc"])) or root, fault["msg"].removeprefix("Value error, ")
        problem = problem.replace("valid tuple", "valid list")  # users write JSON, which has no tuples
        faults.append(f"{place}: {problem}" if place else problem)
    return faults
