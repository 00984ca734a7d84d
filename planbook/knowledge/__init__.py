"""The knowledge that a run uses, and the knowledge that a building run has learned so far.

- ``memory``: chooses where a run's planner gets its knowledge from.
- ``learned``: the knowledge that a building run learned, or that the files of a library hold.
- ``state``: the knowledge of a building run after each of its episodes.
- ``record``: the events in which a building run records what it learned.
- ``parts``: the names of the parts of knowledge that a run can leave out (``--without``).
"""

from typing import TYPE_CHECKING

from planbook import lazy_getattr

if TYPE_CHECKING:
    from planbook.knowledge.learned import known_parts, learned_memory
    from planbook.knowledge.memory import PROCEDURES, memory_of, playing_memory
    from planbook.knowledge.parts import ABLATIONS, RETRIEVAL, check_ablations
    from planbook.knowledge.record import (
        EVERYTHING,
        LEARNED,
        SPOILT,
        formulating_path,
        group_of,
        initial_state_path,
        learn_once,
        learned_event,
        learning_path,
    )
    from planbook.knowledge.state import (
        KnowledgeState,
        check_environment,
        form_without,
        initial_state,
        learned_in,
        manual_is_outdated,
        read_undos,
        start_of,
        with_manual,
        with_undos,
    )
else:
    __getattr__ = lazy_getattr(__name__)
