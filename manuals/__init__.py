"""Write manuals from learned rules, and read and write libraries of knowledge.

This package also contains the shipped library. It has a folder for each environment, with procedures, demonstrations
and the knowledge with which ``planbook build`` begins.

- ``formulator``: asks a model to arrange rules into the sections of a manual, and shortens manuals.
- ``markdown``: writes a manual as Markdown, and reads it back.
- ``coverage``: finds task types without rules, rules that no planner cited, and rules that cite unknown rules.
- ``library``: reads learned knowledge from the files of a library, and writes it to them.
- ``procedures``: reads the procedures and demonstrations of a library.
- ``start``: reads starts, the knowledge that a run of ``planbook build`` begins with.
- ``errors``: the errors of this package.
"""

if __name__ == "manuals":
    raise ImportError("manuals is a package of planbook: import planbook.manuals", name="manuals")

from typing import TYPE_CHECKING

from planbook import lazy_getattr

if TYPE_CHECKING:
    from planbook.manuals.coverage import Coverage, coverage_table, goals_of, measure_coverage
    from planbook.manuals.errors import ManualsError
    from planbook.manuals.formulator import PROMPTS, formulate, shorten
    from planbook.manuals.library import (
        MANUAL_FILE,
        read_knowledge,
        replace_files,
        standalone_code,
        write_knowledge,
    )
    from planbook.manuals.markdown import Manual, Section, excerpt, parse, render
    from planbook.manuals.procedures import (
        DEMONSTRATIONS_FOLDER,
        SHIPPED,
        TYPES_FILE,
        DemonstratingMemory,
        ProcedureLibrary,
        existing_demonstrations,
        module_procedures,
    )
    from planbook.manuals.start import Start, default_starts, read_start, types_to_build_on
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
