"""Errors as one line and an exit code."""

import sys

import click

from planbook import errors
from planbook.console import ERRORS
from planbook.terminal.printing import answer


def code_of(error: BaseException) -> int | None:
    """Tell an error of ours and return its exit code; None for any other."""
    if isinstance(error, click.exceptions.Abort | KeyboardInterrupt):
        ERRORS.print("Stopped.")
        return errors.INTERRUPTED
    if isinstance(error, errors.REPORTED):
        ERRORS.print(f"planbook: {error}", style="red", markup=False, soft_wrap=True)
        return answer(errors.exit_code(error), {"error": str(error)}, as_json="--json" in sys.argv)
    return None
