"""Everything the manuals package raises.

ManualsError
├── BadStart      no such starting knowledge, or a folder of it that cannot be used
├── BadManual     a manual that cannot be written or read: the message names the line, or the rules
├── BadKnowledge  a library's files that cannot be read, or knowledge that cannot be written
└── TooLong       a manual that stays longer than its reader takes, whatever may be left out of it
"""


class ManualsError(Exception):
    """Base of this package's errors."""


class BadStart(ManualsError):
    """Unknown starting knowledge, or an unusable folder of it; the message lists what there is."""


class BadManual(ManualsError):
    """A manual that cannot be written or read; the message names the line, or the rules."""


class BadKnowledge(ManualsError):
    """A library's files that cannot be read, or knowledge that cannot be written; the message names the file."""


class TooLong(ManualsError):
    """A manual that is longer than its reader accepts, whatever is left out of it."""
