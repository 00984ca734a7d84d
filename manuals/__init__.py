"""Write manuals from learned rules, and read and write libraries of knowledge.

This package also contains the shipped library. It has a folder for each environment, with procedures, demonstrations
and the knowledge with which ``planbook build`` begins.

- ``formulator``: asks a model to arrange rules into the sections of a manual.
- ``markdown``: writes a manual as Markdown, and reads it back.
- ``library``: reads learned knowledge from the files of a library, and writes it to them.
- ``procedures``: reads the procedures and demonstrations of a library.
- ``start``: reads starts, the knowledge that a run of ``planbook build`` begins with.
- ``errors``: the errors of this package.
"""

if __name__ == "manuals":
    raise ImportError("manuals is a package of planbook: import planbook.manuals", name="manuals")

from typing import TYPE_CHECKING

from planbook import lazy_getattr

if TYPE_CHECKING:  # `X as X` tells type checkers that X is public
    from planbook.manuals.errors import ManualsError as ManualsError
    from planbook.manuals.formulator import PROMPTS as PROMPTS, formulate as formulate
    from planbook.manuals.library import (
        MANUAL_FILE as MANUAL_FILE,
        read_knowledge as read_knowledge,
        replace_files as replace_files,
        standalone_code as standalone_code,
        write_knowledge as write_knowledge,
    )
    from planbook.manuals.markdown import (
        Manual as Manual,
        Section as Section,
        excerpt as excerpt,
        parse as parse,
        render as render,
    )
    from planbook.manuals.procedures import (
        DEMONSTRATIONS_FOLDER as DEMONSTRATIONS_FOLDER,
        SHIPPED as SHIPPED,
        TYPES_FILE as TYPES_FILE,
        DemonstratingMemory as DemonstratingMemory,
        ProcedureLibrary as ProcedureLibrary,
        existing_demonstrations as existing_demonstrations,
        module_procedures as module_procedures,
    )
    from planbook.manuals.start import (
        Start as Start,
        default_starts as default_starts,
        read_start as read_start,
        types_to_learn_from as types_to_learn_from,
    )
else:
    __getattr__ = lazy_getattr(__name__)
