"""Manuals: render what was learned for readers; and what ships with planbook: procedures for each environment."""

if __name__ == "manuals":
    raise ImportError("manuals is a package of planbook: import planbook.manuals", name="manuals")

from planbook.manuals.coverage import Coverage, coverage
from planbook.manuals.demonstrations import Demonstrating, demonstrated
from planbook.manuals.errors import BadKnowledge, BadManual, BadStart, ManualsError, TooLong
from planbook.manuals.formulator import formulate
from planbook.manuals.knowledge import read_knowledge, standalone, write_knowledge
from planbook.manuals.library import SHIPPED, ProcedureLibrary
from planbook.manuals.manual import Manual, Section
from planbook.manuals.markdown import parse, render
from planbook.manuals.shortening import excerpt, within
from planbook.manuals.start import Start, read_start, starts, types_to_build_on, usual_starts
from planbook.planner import checked_procedure

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
    "standalone",
    "starts",
    "types_to_build_on",
    "usual_starts",
    "within",
    "write_knowledge",
]
