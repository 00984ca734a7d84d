"""How what was learnt is told to a reader, and what ships with planbook: procedures for each world."""

from manuals.coverage import Coverage, coverage
from manuals.demonstrations import Demonstrating, demonstrated
from manuals.errors import BadKnowledge, BadManual, BadStart, ManualsError, TooLong
from manuals.formulator import formulate
from manuals.knowledge import read_knowledge, write_knowledge
from manuals.library import SHIPPED, ProcedureLibrary
from manuals.manual import Manual, Section
from manuals.markdown import parse, render
from manuals.shortening import excerpt, within
from manuals.start import Start, read_start, starts, types_to_build_on, usual_starts
from planner import checked_procedure

__all__ = [
    "SHIPPED",
    "BadKnowledge",
    "BadManual",
    "BadStart",
    "Coverage",
    "Demonstrating",
    "Manual",
    "ManualsError",
    "ProcedureLibrary",
    "Section",
    "Start",
    "TooLong",
    "checked_procedure",
    "coverage",
    "demonstrated",
    "excerpt",
    "formulate",
    "parse",
    "read_knowledge",
    "read_start",
    "render",
    "starts",
    "types_to_build_on",
    "usual_starts",
    "within",
    "write_knowledge",
]
