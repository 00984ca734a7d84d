"""The figures of papers, and the comparison of runs with them.

``published`` has the papers' tables and settings; ``settings`` has the settings of ``--paper``, and the differences
between a run and a paper's setting. ``comparison`` compares a run with the tables; ``tables`` prints the comparison.
"""

from typing import TYPE_CHECKING

from planbook import lazily

if TYPE_CHECKING:
    from planbook.papers.comparison import COLUMNS, PaperComparison, compare_with_papers
    from planbook.papers.published import publications
    from planbook.papers.settings import NO_PAPER, PaperSettings, paper_settings, settings_of_papers
    from planbook.papers.tables import paper_tables
else:
    __getattr__ = lazily(__name__)

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
