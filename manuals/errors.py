"""The errors of this package."""


class ManualsError(Exception):
    """Base class of this package's exceptions."""


class BadKnowledge(ManualsError):
    """A library's files cannot be read, or knowledge cannot be written to them. The message names the file."""


class BadStart(ManualsError):
    """A start does not exist, or is unusable. The message names it, and says why."""


class BadManual(ManualsError):
    """A manual cannot be written or read. The message names the line or the rules at fault."""
