"""Scopes of what was started over: its events stand below the first ones, numbered from 1."""

import re

RESTART = "/restart/"
"""Between the scope of what was started over and the number."""


def started_over(path: str, number: int) -> str:
    """The scope of what was begun in ``path``, after so many times of starting over."""
    return f"{path}{RESTART}{number}"


def without_restart(scope: str) -> str:
    """The same place in what was never started over."""
    return re.sub(rf"{RESTART}\d+", "", scope)
