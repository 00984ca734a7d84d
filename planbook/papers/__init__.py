"""The figures of papers, and a run of ours beside them."""

from planbook.papers.comparison import Comparison, compare
from planbook.papers.showing import lines, tables

__all__ = ["Comparison", "compare", "lines", "tables"]
