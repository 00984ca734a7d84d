"""Write manuals from learned rules, and read the shipped procedures, demonstrations and starts of each environment.

- ``formulator`` asks a model for the outline of a ``manual``. ``markdown`` renders, parses and shortens manuals;
  ``coverage`` finds what they leave out.
- ``knowledge`` reads and writes the files of a library; ``library`` reads procedures and the demonstrations for models;
  ``start`` reads the knowledge with which a building run begins. ``errors`` defines the exceptions.
"""

if __name__ == "manuals":
    raise ImportError("manuals is a package of planbook: import planbook.manuals", name="manuals")

from typing import TYPE_CHECKING

from planbook import lazily

if TYPE_CHECKING:
    from planbook.manuals.coverage import Coverage, coverage_table, goals_of, measure_coverage
    from planbook.manuals.errors import ManualsError
    from planbook.manuals.formulator import PROMPTS, formulate
    from planbook.manuals.knowledge import MANUAL_FILE, read_knowledge, replace_files, standalone, write_knowledge
    from planbook.manuals.library import (
        DEMONSTRATIONS_FOLDER,
        SHIPPED,
        TYPES_FILE,
        DemonstratingMemory,
        ProcedureLibrary,
        existing_demonstrations,
        module_procedures,
    )
    from planbook.manuals.manual import Manual, Section
    from planbook.manuals.markdown import excerpt, parse, render, within
    from planbook.manuals.start import Start, read_start, types_to_build_on, usual_starts
else:
    __getattr__ = lazily(__name__)

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
    "standalone",
    "types_to_build_on",
    "usual_starts",
    "within",
    "write_knowledge",
]
