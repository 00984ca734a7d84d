"""Names that a plan hands to library functions which make classes."""

from typing import Any

from sandbox.policy.hints import NAME_HINT
from sandbox.policy.rules import may_write


def names_of(names: Any) -> list[Any]:
    """The names, looked at once: a plan's own iterable could give others the next time."""
    return str.replace(names, ",", " ").split() if isinstance(names, str) else list(names)


def identifier(name: object) -> str:
    """The name, if it is one that a class of the plan may have."""
    if type(name) is not str:
        raise TypeError("names must be strings")
    if not may_write(name):
        raise ValueError(f"the name {name!r} is not available in plans; {NAME_HINT}")
    return name
