"""How what was learnt is told to a reader, and what ships with planbook: procedures for each world."""

from manuals.errors import BadStart, ManualsError
from manuals.library import SHIPPED, ProcedureLibrary
from manuals.start import Start, read_start, starts, types_to_build_on, usual_starts
from planner import checked_procedure

__all__ = [
    "SHIPPED",
    "BadStart",
    "ManualsError",
    "ProcedureLibrary",
    "Start",
    "checked_procedure",
    "read_start",
    "starts",
    "types_to_build_on",
    "usual_starts",
]
