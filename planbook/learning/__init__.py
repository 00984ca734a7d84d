"""Learning from runs: rules, libraries, procedures and manuals, in the stages of AutoManual.

``learner`` learns from one episode: ``finding`` gives it a type where tasks have none, ``procedures`` writes and
verifies procedures, with ``postconditions``. ``stages`` plays and learns one episode after the other; ``tasks`` draws
what is played, ``given`` copies episodes that were played elsewhere. ``cost`` shows what building took, and what its
rules cover.
"""

from typing import TYPE_CHECKING

from planbook import lazily

if TYPE_CHECKING:
    from planbook.learning.cost import (
        coverage_lines,
        coverage_of,
        show_cost,
    )
    from planbook.learning.learner import told_episodes
    from planbook.learning.stages import (
        build,
        export,
        export_manuals,
        formulate,
        formulate_with_kept,
    )
    from planbook.learning.tasks import building_tasks, learning_path, playing_memory, tasks_of
else:
    __getattr__ = lazily(__name__)

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
