"""The figures of papers, and a run of ours beside them."""

from planbook.papers.beside import Beside, beside
from planbook.papers.published import publications
from planbook.papers.sheets import sheets

__all__ = ["Beside", "beside", "publications", "sheets"]
