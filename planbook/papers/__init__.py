"""The figures of papers, and a run of ours beside them.

``published`` has the papers' tables, ``columns`` those of their columns that are no shares of tasks. ``beside`` holds a
run against them: by what it was (``played``) and did otherwise (``unlike``); ``sheets`` tells it.
"""

from planbook.papers.beside import Beside, beside
from planbook.papers.published import publications
from planbook.papers.sheets import sheets

__all__ = ["Beside", "beside", "publications", "sheets"]
