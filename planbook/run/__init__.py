"""What is a run, on the disk?

``run`` is an open one; ``file`` is what its run.json holds, with the entries that its store lists. ``folder`` makes the
folder, and makes it one process's own.
"""

from planbook.run.file import GRAPH_PLANNER, Entry, RunFile, index_of
from planbook.run.folder import CONFIG_FILE, RUNS, is_run, new_folder
from planbook.run.run import PAUSED, Run

__all__ = [
    "CONFIG_FILE",
    "GRAPH_PLANNER",
    "PAUSED",
    "RUNS",
    "Entry",
    "Run",
    "RunFile",
    "index_of",
    "is_run",
    "new_folder",
]
