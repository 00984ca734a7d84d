"""The figures of papers, and our runs compared with them.

``published`` has the papers' tables and settings, ``settings`` what ``--paper`` sets. ``comparison`` puts a run (as
``our_run`` reads it) beside the tables, with the ``differences`` from the paper's setting; ``tables`` shows it.
"""

from planbook.papers.comparison import COLUMNS, PaperComparison, compare_with_papers
from planbook.papers.published import publications
from planbook.papers.settings import NO_PAPER, PaperSettings, paper_settings, settings_of_papers
from planbook.papers.tables import paper_tables

__all__ = [
    "COLUMNS",
    "NO_PAPER",
    "PaperComparison",
    "PaperSettings",
    "compare_with_papers",
    "paper_settings",
    "paper_tables",
    "publications",
    "settings_of_papers",
]
