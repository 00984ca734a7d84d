"""Episodes as files that others read, and files of others as runs.

An episode is written as its ``Trajectory`` (``planbook.planner.trajectory``): ``files`` has JSON Lines and Parquet,
``faults`` what can be wrong with one, ``chat`` the conversations alone. ``exporting`` and ``importing`` carry out the
commands.
"""

from planbook.export.exporting import Counts, ExportChoice, Exported, chosen, export, facts_of, trajectory_of
from planbook.export.files import BadEpisode, line_of, read_episodes
from planbook.export.importing import import_files

__all__ = [
    "BadEpisode",
    "Counts",
    "ExportChoice",
    "Exported",
    "chosen",
    "export",
    "facts_of",
    "import_files",
    "line_of",
    "read_episodes",
    "trajectory_of",
]
