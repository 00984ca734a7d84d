"""The errors that this package defines, and the exit codes of all errors that the command line reports.

PlanbookError
├── BadArgument     an option has an invalid value
└── BadRun          a run's folder cannot be read, or cannot be used for what was requested
"""

import sys
from collections.abc import Mapping
from pathlib import Path
from traceback import extract_tb

from pydantic import ValidationError

from planbook.envs import EnvsError, MissingRequirement, validation_faults
from planbook.manuals import ManualsError
from planbook.planner import ModelError, PlannerError, UnknownModel
from planbook.rules import RulesError
from planbook.sandbox import MissingMechanism, SandboxError, WorkerFailed

OK, BROKEN, BAD_INPUT, MISSING, OUT_OF_BUDGET, INTERRUPTED = 0, 1, 2, 3, 4, 130


class PlanbookError(Exception):
    """Base of this package's errors."""


class BadArgument(PlanbookError):
    """An option has an invalid value."""


class BadRun(PlanbookError):
    """A run's folder cannot be read, or cannot be used for what was requested."""


REPORTED_ERRORS = (PlanbookError, EnvsError, PlannerError, RulesError, ManualsError, SandboxError)
"""Errors that are reported in one line. Any other error is a bug, and is shown with its traceback."""

DAMAGE_ERRORS = (ValidationError, KeyError)
"""Errors that readers of a run raise if one of the run's records is damaged."""
INSTALLED_PREFIXES = (str(Path(__file__).parent), sys.prefix, sys.base_prefix, "<")
"""Prefixes of the paths of source files that belong to planbook, an installed package or Python itself."""

EXIT_CODES: Mapping[type[Exception], int] = {
    MissingRequirement: MISSING,
    MissingMechanism: MISSING,
    UnknownModel: BAD_INPUT,
    ModelError: MISSING,
    WorkerFailed: BROKEN,
}
"""Maps errors to exit codes. The first type that matches decides; any other reported error has the code BAD_INPUT."""


def exit_code(error: Exception) -> int:
    """Return the exit code of a reported error."""
    return next((code for kind, code in EXIT_CODES.items() if isinstance(error, kind)), BAD_INPUT)


def damaged_run(run: object, error: Exception) -> BadRun:
    """Return the error that reports a damaged record of a run. ``error`` is the error that the reader raised."""
    fault = validation_faults(error)[0] if isinstance(error, ValidationError) else repr(error)
    place = extract_tb(error.__traceback__)[-1]
    where = f"{Path(place.filename).name}:{place.lineno}"
    return BadRun(f"{run}: a record is damaged, or this is a bug ({fault}, {where}); restore the run from a copy")


def may_be_damage(error: Exception) -> bool:
    """Return True if an error may come from a damaged record, and was raised while no user code was running."""
    frames = extract_tb(error.__traceback__)
    return isinstance(error, DAMAGE_ERRORS) and all(frame.filename.startswith(INSTALLED_PREFIXES) for frame in frames)
