"""What is a run, on the disk?

``run`` is an open one; ``file`` is what its run.json holds, with the entries that its store lists; ``endings`` are what
these came to. ``manifest`` and ``versions`` say what it is made of, ``changes`` what of that is another now, ``origin``
where imported episodes come from. ``folder`` makes the folder, and makes it one process's own. ``moved`` finds the
user's files again after a move.
"""

from planbook.run.endings import AGAIN, DIVERGED, last_path, recorded_endings, set_aside
from planbook.run.file import GRAPH_PLANNER, Entry, RunFile, index_of
from planbook.run.folder import CONFIG_FILE, RUNS, is_run, new_folder
from planbook.run.run import PAUSED, Run

__all__ = [
    "AGAIN",
    "CONFIG_FILE",
    "DIVERGED",
    "GRAPH_PLANNER",
    "PAUSED",
    "RUNS",
    "Entry",
    "Run",
    "RunFile",
    "index_of",
    "is_run",
    "last_path",
    "new_folder",
    "recorded_endings",
    "set_aside",
]
