"""Learning from runs: rules, libraries, procedures and manuals, in the stages of AutoManual.

``learner`` learns from one episode: ``finding`` finds its type if tasks have none, ``procedures`` writes and verifies
procedures, with ``postconditions``. ``stages`` plays episodes and learns from them in order; ``tasks`` draws the tasks,
``given`` copies episodes that were played elsewhere. ``cost`` shows the cost of building and the coverage of its rules.
"""

from typing import TYPE_CHECKING

from planbook import lazily

if TYPE_CHECKING:
    from planbook.learning.cost import (
        coverage_lines,
        coverage_of,
        show_cost,
    )
    from planbook.learning.learner import describe_episodes
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
    "describe_episodes",
    "export",
    "export_manuals",
    "formulate",
    "formulate_with_kept",
    "learning_path",
    "playing_memory",
    "show_cost",
    "tasks_of",
]
