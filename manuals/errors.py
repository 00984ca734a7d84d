"""The exceptions of the manuals package.

ManualsError
├── BadStart      the starting knowledge does not exist, or is unusable
├── BadManual     a manual cannot be written or read
├── BadKnowledge  a library's files cannot be read, or knowledge cannot be written to them
└── TooLong       a manual is too long, even without the parts that may be left out
"""


class ManualsError(Exception):
    """Base class of this package's exceptions."""


class BadStart(ManualsError):
    """The starting knowledge does not exist, or is unusable. The message says which knowledge, and why."""


class BadManual(ManualsError):
    """A manual cannot be written or read. The message names the line, or the rules."""


class BadKnowledge(ManualsError):
    """A library's files cannot be read, or knowledge cannot be written to them. The message names the file."""


class TooLong(ManualsError):
    """A manual is too long for its reader, even without the parts that may be left out."""
