"""The exceptions of the manuals package.

ManualsError
├── BadStart      starting knowledge that is unknown or unusable
├── BadManual     a manual that cannot be written or read
├── BadKnowledge  a library's files that cannot be read, or knowledge that cannot be written
└── TooLong       a manual that is longer than its reader accepts, whatever is left out of it
"""


class ManualsError(Exception):
    """Base class of this package's exceptions."""


class BadStart(ManualsError):
    """Starting knowledge that is unknown or unusable; the message says which and why."""


class BadManual(ManualsError):
    """A manual that cannot be written or read; the message names the line, or the rules."""


class BadKnowledge(ManualsError):
    """A library's files that cannot be read, or knowledge that cannot be written; the message names the file."""


class TooLong(ManualsError):
    """A manual that is longer than its reader accepts, whatever is left out of it."""
