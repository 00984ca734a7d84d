"""What a run knows beforehand.

``state`` is what a building run knows after each episode, and what of it can be left out; ``memory`` is what a planner
recalls of it, or of a library in a folder.
"""

from typing import TYPE_CHECKING

from planbook import lazily

if TYPE_CHECKING:
    from planbook.knowledge.memory import PROCEDURES, demonstrating, known_parts, memory_of, remembering
    from planbook.knowledge.state import (
        ABLATIONS,
        EVERYTHING,
        LEARNED,
        RETRIEVAL,
        SPOILT,
        KnowledgeState,
        already,
        beginning_path,
        check_ablations,
        form_without,
        formulating_path,
        fresh_beginning,
        group_of,
        learned_in,
        once,
        start_of,
        undone,
        with_manual,
        with_undone,
    )
else:
    __getattr__ = lazily(__name__)

__all__ = [
    "ABLATIONS",
    "EVERYTHING",
    "LEARNED",
    "PROCEDURES",
    "RETRIEVAL",
    "SPOILT",
    "KnowledgeState",
    "already",
    "beginning_path",
    "check_ablations",
    "demonstrating",
    "form_without",
    "formulating_path",
    "fresh_beginning",
    "group_of",
    "known_parts",
    "learned_in",
    "memory_of",
    "once",
    "remembering",
    "start_of",
    "undone",
    "with_manual",
    "with_undone",
]
