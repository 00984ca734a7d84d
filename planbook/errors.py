"""What the command line reports: every error of the layers below ends up as one of these exit codes.

PlanbookError
├── BadArgument     an option whose value cannot be read
├── BadRun          a run folder that cannot be read, or does not fit what was asked
└── ClusterLost     the Ray cluster that plays a run is gone
"""

from collections.abc import Mapping

from planbook.envs import EnvsError, MissingRequirement
from planbook.manuals import ManualsError
from planbook.planner import ModelError, PlannerError
from planbook.rules import RulesError
from planbook.sandbox import MissingMechanism, SandboxError, WorkerFailed

OK, BROKEN, BAD_INPUT, MISSING, OUT_OF_BUDGET, INTERRUPTED = 0, 1, 2, 3, 4, 130


class PlanbookError(Exception):
    """Base of this package's errors."""


class BadArgument(PlanbookError):
    """An option whose value cannot be read."""


class BadRun(PlanbookError):
    """A run folder that cannot be read, or does not fit what was asked."""


class ClusterLost(PlanbookError):
    """The Ray cluster that plays a run is gone, or cannot be reached any more."""


REPORTED = (PlanbookError, EnvsError, PlannerError, RulesError, ManualsError, SandboxError)
"""Errors that are told in one line; anything else is a fault of ours and keeps its traceback."""

EXIT_CODES: Mapping[type[Exception], int] = {
    MissingRequirement: MISSING,
    MissingMechanism: MISSING,
    ModelError: MISSING,
    ClusterLost: MISSING,
    WorkerFailed: BROKEN,
}


def exit_code(error: Exception) -> int:
    """The exit code for a reported error."""
    return next((code for kind, code in EXIT_CODES.items() if isinstance(error, kind)), BAD_INPUT)
