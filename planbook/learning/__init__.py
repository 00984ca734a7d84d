"""Learning from runs: rules, libraries, procedures and manuals, in the stages of AutoManual.

``learner`` learns from one episode, ``procedures`` writes and verifies procedures, ``stages`` plays and learns one
episode after the other; ``given`` copies episodes that were played elsewhere. ``cost`` shows what building took, and
what its rules cover.
"""

from planbook.learning.cost import (
    coverage_lines,
    coverage_of,
    show_cost,
)
from planbook.learning.learner import learning_path, told_episodes
from planbook.learning.stages import (
    build,
    building_tasks,
    export,
    export_manuals,
    formulate,
    formulate_with_kept,
    playing_memory,
    tasks_of,
)

__all__ = [
    "build",
    "building_tasks",
    "coverage_lines",
    "coverage_of",
    "export",
    "export_manuals",
    "formulate",
    "formulate_with_kept",
    "learning_path",
    "playing_memory",
    "show_cost",
    "tasks_of",
    "told_episodes",
]
