"""The library that draws the charts (plotly.js), as it is put into a page: packed, and unpacked when the page is shown.

Unpacked it has 4.8 MB, and a browser would read all of it before it shows anything; packed it is 2 MB that no parser
looks into. The page's policy names the library's checksum, so that no other script is let in that way.
"""

import base64
import gzip
from functools import cache
from typing import NamedTuple


class Library(NamedTuple):
    """The script, and the same packed: gzip in base64."""

    script: str
    packed: str


@cache
def library() -> Library | None:
    """The library out of its package, which is only imported where a chart is drawn; None where that is missing."""
    try:
        from plotly.offline import get_plotlyjs
    except ImportError:
        return None
    script = get_plotlyjs()
    return Library(script, base64.b64encode(gzip.compress(script.encode("utf-8"), mtime=0)).decode("ascii"))
