"""A run on disk: everything that one command did, in one folder.

``run`` is an open one, with the endings of its episodes; ``folder`` has its folder, its run.json and the files that
this names. ``installed`` has the versions of the software, and what has changed since the run began.
"""

from typing import TYPE_CHECKING

from planbook import lazily

if TYPE_CHECKING:
    from planbook.runs.folder import (
        CONFIG_FILE,
        GRAPH_PLANNER,
        RUNS,
        Entry,
        Fork,
        Imported,
        ImportOrigin,
        MadeOf,
        ReadFile,
        RunFile,
        branches_of,
        claim_folder,
        file_named,
        found_again,
        index_of,
        is_claimed,
        is_run,
        model_named,
        new_branch,
        new_folder,
        without_folders,
    )
    from planbook.runs.installed import CODE, InputChange, changed_versions, changes, decisive, versions
    from planbook.runs.run import (
        AGAIN,
        DIVERGED,
        PAUSED,
        Run,
        again_lines,
        broken_paths,
        last_path,
        recorded_endings,
        set_aside,
    )
else:
    __getattr__ = lazily(__name__)

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
    "file_named",
    "found_again",
    "index_of",
    "is_claimed",
    "is_run",
    "last_path",
    "model_named",
    "new_branch",
    "new_folder",
    "recorded_endings",
    "set_aside",
    "versions",
    "without_folders",
]
