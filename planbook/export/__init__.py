"""Export of episodes to files, and import of such files as runs.

An episode is written as its ``Trajectory`` (``planbook.planner.trajectory``): ``files`` reads, writes and checks JSON
Lines and Parquet. ``exporting`` (which also writes conversations alone) and ``importing`` carry out the commands.
``skills`` writes learned procedures as Agent Skills, and reads their evidence.
"""

from typing import TYPE_CHECKING

from planbook import lazily

if TYPE_CHECKING:
    from planbook.export.exporting import Counts, ExportChoice, Exported, export, facts_of, read_chosen, trajectory_of
    from planbook.export.files import BadEpisode, line_of, read_episodes
    from planbook.export.importing import import_files
    from planbook.export.skills import (
        VerifiedSkill,
        export_skills,
        read_evidence,
        skill_folders,
        verified_skill,
        verifying_config,
    )
else:
    __getattr__ = lazily(__name__)

__all__ = [
    "BadEpisode",
    "Counts",
    "ExportChoice",
    "Exported",
    "VerifiedSkill",
    "export",
    "export_skills",
    "facts_of",
    "import_files",
    "line_of",
    "read_chosen",
    "read_episodes",
    "read_evidence",
    "skill_folders",
    "trajectory_of",
    "verified_skill",
    "verifying_config",
]
