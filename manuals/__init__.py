"""How what was learnt is told to a reader, and what ships with planbook: procedures for each world."""

from manuals.library import SHIPPED, ProcedureLibrary
from planner import checked_procedure

__all__ = ["SHIPPED", "ProcedureLibrary", "checked_procedure"]
