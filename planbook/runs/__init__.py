"""A run on disk: everything that one command did, in one folder.

``run`` is an open run, with the endings of its episodes; ``folder`` has its folder, run.json, and the paths of files
that run.json names. ``installed`` has the versions of the software, and the changes since the run began.
"""

from typing import TYPE_CHECKING

from planbook import lazily

if TYPE_CHECKING:
    from planbook.runs.folder import (
        CONFIG_FILE,
        GRAPH_PLANNER,
        PROMPT_DIGITS,
        RUNS,
        Entry,
        Fork,
        Imported,
        ImportedFile,
        ImportOrigin,
        RunFile,
        RunInputs,
        branches_of,
        claim_folder,
        file_named,
        index_of,
        is_claimed,
        is_run,
        model_named,
        new_branch,
        new_folder,
        with_present_paths,
        without_folders,
    )
    from planbook.runs.installed import InputChange, changed_versions, changes, decisive_changes, versions
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
