"""Write manuals from learned rules, and read and write libraries of knowledge.

The folders in this package are the shipped library. There is one for each environment, with procedures, demonstrations
and the knowledge with which ``planbook build`` begins.

- ``formulator``: asks a model to arrange rules into the sections of a manual, and shortens manuals.
- ``markdown``: the structure of a manual (sections with the ids of rules); writes it as Markdown, and reads it back.
- ``coverage``: finds task types without rules, and rules that nobody cites.
- ``knowledge``: reads and writes everything that was learned, as files of a library, and reads the knowledge with which
  a run of ``planbook build`` begins.
- ``library``: reads procedures, and the demonstrations that models are shown.
"""

if __name__ == "manuals":
    raise ImportError("manuals is a package of planbook: import planbook.manuals", name="manuals")

from typing import TYPE_CHECKING

from planbook import lazy_getattr

if TYPE_CHECKING:
    from planbook.manuals.coverage import Coverage, coverage_table, goals_of, measure_coverage
    from planbook.manuals.formulator import PROMPTS, formulate, shorten
    from planbook.manuals.knowledge import (
        MANUAL_FILE,
        Start,
        default_starts,
        read_knowledge,
        read_start,
        replace_files,
        standalone_code,
        types_to_build_on,
        write_knowledge,
    )
    from planbook.manuals.library import (
        DEMONSTRATIONS_FOLDER,
        SHIPPED,
        TYPES_FILE,
        DemonstratingMemory,
        ManualsError,
        ProcedureLibrary,
        existing_demonstrations,
        module_procedures,
    )
    from planbook.manuals.markdown import Manual, Section, excerpt, parse, render
else:
    __getattr__ = lazy_getattr(__name__)

__all__ = [
    "DEMONSTRATIONS_FOLDER",
    "MANUAL_FILE",
    "PROMPTS",
    "SHIPPED",
    "TYPES_FILE",
    "Coverage",
    "DemonstratingMemory",
    "Manual",
    "ManualsError",
    "ProcedureLibrary",
    "Section",
    "Start",
    "coverage_table",
    "default_starts",
    "excerpt",
    "existing_demonstrations",
    "formulate",
    "goals_of",
    "measure_coverage",
    "module_procedures",
    "parse",
    "read_knowledge",
    "read_start",
    "render",
    "replace_files",
    "shorten",
    "standalone_code",
    "types_to_build_on",
    "write_knowledge",
]
