"""Where an error was raised, for those who wrote the code."""

import sysconfig
import traceback
from collections.abc import Collection
from pathlib import Path

_INSTALLED = (sysconfig.get_path("stdlib"), sysconfig.get_path("purelib"))
_BASE = Path(__file__).with_name("base.py")


def raised_at(error: BaseException, besides: Collection[Path] = ()) -> tuple[str, str]:
    """Return FILE:LINE of the innermost code that is not of a library, and the traceback from the outermost one on.

    Files in the folders ``besides`` and the base class of environments are passed over. Both texts are empty where
    nothing else was on the way.
    """
    frames = traceback.extract_tb(error.__traceback__)
    own = [
        number
        for number, frame in enumerate(frames)
        if Path(frame.filename) != _BASE
        and Path(frame.filename).parent not in besides
        and not frame.filename.startswith(_INSTALLED)
    ]
    if not own:
        return "", ""
    last = frames[own[-1]]
    return f"{Path(last.filename).name}:{last.lineno}", "".join(traceback.format_list(frames[own[0] :])).rstrip()
