"""The knowledge that a run plays with.

- ``memory`` is what a planner recalls for a task: stored procedures, or what was ``learned`` by a building run or is in
  the files of a library.
- ``state`` is the knowledge of a building run after each episode; ``record`` has the steps of learning in its events.
- ``parts`` are the parts of knowledge that a run can leave out.
"""

from typing import TYPE_CHECKING

from planbook import lazily

if TYPE_CHECKING:
    from planbook.knowledge.learned import known_parts, learned_memory
    from planbook.knowledge.memory import PROCEDURES, memory_of, playing_memory
    from planbook.knowledge.parts import ABLATIONS, RETRIEVAL, check_ablations
    from planbook.knowledge.record import (
        EVERYTHING,
        LEARNED,
        SPOILT,
        beginning_path,
        formulating_path,
        group_of,
        learn_once,
        learned_at,
        learning_path,
    )
    from planbook.knowledge.state import (
        KnowledgeState,
        check_environment,
        form_without,
        fresh_beginning,
        learned_in,
        read_undone,
        start_of,
        with_manual,
        with_undone,
    )
else:
    __getattr__ = lazily(__name__)
