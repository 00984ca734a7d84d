"""Everything the manuals package raises.

ManualsError
└── BadStart  no such starting knowledge, or a folder of it that cannot be used
"""


class ManualsError(Exception):
    """Base of this package's errors."""


class BadStart(ManualsError):
    """No starting knowledge of that name, or a folder of it that cannot be used; the message says what there is."""
