"""The figures of papers, and a run of ours beside them."""

from planbook.papers.beside import Beside, beside
from planbook.papers.comparison import Comparison, compare
from planbook.papers.figures import automanual
from planbook.papers.published import publications
from planbook.papers.sheets import sheets
from planbook.papers.showing import lines, tables

__all__ = [
    "Beside",
    "Comparison",
    "automanual",
    "beside",
    "compare",
    "lines",
    "publications",
    "sheets",
    "tables",
]
