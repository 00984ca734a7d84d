"""The knowledge that a run plays with.

``state`` is the knowledge of a building run after each episode, and the parts of it that can be left out. ``memory`` is
the part that a planner recalls for a task, from a building run or a library in a folder.
"""

from typing import TYPE_CHECKING

from planbook import lazily

if TYPE_CHECKING:
    from planbook.knowledge.memory import PROCEDURES, known_parts, learned_memory, memory_of, with_demonstrations
    from planbook.knowledge.state import (
        ABLATIONS,
        EVERYTHING,
        LEARNED,
        RETRIEVAL,
        SPOILT,
        KnowledgeState,
        beginning_path,
        check_ablations,
        check_environment,
        form_without,
        formulating_path,
        fresh_beginning,
        group_of,
        learn_once,
        learned_at,
        learned_in,
        read_undone,
        start_of,
        with_manual,
        with_undone,
    )
else:
    __getattr__ = lazily(__name__)
