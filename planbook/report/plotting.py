"""The library that draws the charts (plotly.js), as it is put into a page: packed, and unpacked when the page is shown.

Unpacked it has 4.8 MB, and a browser would read all of it before it shows anything; packed it is 2 MB that no parser
looks into. The page's policy names the library's checksum, so that no other script is let in that way.
"""

import base64
import gzip
from functools import cache
from hashlib import sha256
from typing import NamedTuple


class Library(NamedTuple):
    """``packed`` is gzip in base64; ``checksum`` is that of the unpacked script, as a security policy has it."""

    packed: str
    checksum: str


@cache
def library() -> Library:
    """The library out of its package, which is only imported where a chart is drawn."""
    from plotly.offline import get_plotlyjs

    script = get_plotlyjs().encode("utf-8")
    return Library(base64.b64encode(gzip.compress(script, mtime=0)).decode("ascii"), checksum(script))


def checksum(script: bytes) -> str:
    """What a content security policy knows an inline script by."""
    return f"sha256-{base64.b64encode(sha256(script).digest()).decode('ascii')}"
