"""The exceptions of the manuals package.

ManualsError
├── BadStart      starting knowledge that does not exist or is unusable
├── BadManual     a manual that cannot be written or read
├── BadKnowledge  a library's files that cannot be read, or knowledge that cannot be written
└── TooLong       a manual that is too long even without all that may be left out
"""


class ManualsError(Exception):
    """Base class of this package's exceptions."""


class BadStart(ManualsError):
    """Starting knowledge that does not exist or is unusable; the message says which and why."""


class BadManual(ManualsError):
    """A manual that cannot be written or read; the message names the line, or the rules."""


class BadKnowledge(ManualsError):
    """A library's files that cannot be read, or knowledge that cannot be written; the message names the file."""


class TooLong(ManualsError):
    """A manual that is too long for its reader even without all that may be left out."""
