"""A run on disk: everything that was recorded while its tasks were played, in one folder.

- ``run`` creates, opens and closes runs, and reads the endings of their episodes.
- ``folder`` creates and claims the folder of a run, reads and writes run.json, and finds the files that it names.
- ``installed`` reads the versions of installed software, and finds versions and inputs that changed after a run began.
"""

from typing import TYPE_CHECKING

from planbook import lazy_getattr

if TYPE_CHECKING:
    from planbook.runs.folder import (
        CONFIG_FILE,
        GRAPH_PLANNER,
        PROMPT_DIGITS,
        RUNS,
        EpisodeEntry,
        Fork,
        Imported,
        ImportedFile,
        ImportOrigin,
        RunFile,
        RunInputs,
        branches_of,
        change_path_in_model,
        change_path_in_name,
        index_of,
        is_claimed,
        is_run,
        model_without_folders,
        new_branch,
        new_folder,
        without_folders,
    )
    from planbook.runs.installed import DECISIVE, InputChange, changed_inputs, changed_versions, versions
    from planbook.runs.run import (
        AGAIN,
        DIVERGED,
        INPUTS_KEY,
        PAUSED,
        Run,
        broken_scopes,
        last_attempt,
        last_scope,
        recorded_endings,
        recorded_inputs,
        superseded_scopes,
    )
else:
    __getattr__ = lazy_getattr(__name__)
