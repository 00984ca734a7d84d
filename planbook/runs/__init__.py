"""A run on disk: everything that one command did, in one folder.

``run`` is an open one, ``file`` its run.json with the entries that its store lists, ``folder`` its folder and the files
that it names. ``installed`` has the versions of the software, and what has
changed since the run began; ``endings`` are those of the episodes.
"""

from planbook.runs.endings import AGAIN, DIVERGED, again_lines, broken_paths, last_path, recorded_endings, set_aside
from planbook.runs.file import GRAPH_PLANNER, Entry, Fork, Imported, ImportOrigin, MadeOf, ReadFile, RunFile, index_of
from planbook.runs.folder import (
    CONFIG_FILE,
    RUNS,
    branches_of,
    claim_folder,
    found_again,
    is_claimed,
    is_run,
    new_branch,
    new_folder,
    without_folders,
)
from planbook.runs.installed import CODE, InputChange, changed_versions, changes, decisive, versions
from planbook.runs.run import PAUSED, Run

__all__ = [
    "AGAIN",
    "CODE",
    "CONFIG_FILE",
    "DIVERGED",
    "GRAPH_PLANNER",
    "PAUSED",
    "RUNS",
    "Entry",
    "Fork",
    "ImportOrigin",
    "Imported",
    "InputChange",
    "MadeOf",
    "ReadFile",
    "Run",
    "RunFile",
    "again_lines",
    "branches_of",
    "broken_paths",
    "changed_versions",
    "changes",
    "claim_folder",
    "decisive",
    "found_again",
    "index_of",
    "is_claimed",
    "is_run",
    "last_path",
    "new_branch",
    "new_folder",
    "recorded_endings",
    "set_aside",
    "versions",
    "without_folders",
]
