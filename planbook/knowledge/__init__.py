"""The knowledge that a run uses, and what a run of `planbook build` has learned so far.

- ``memory``: chooses the source of the knowledge that a run's planner gets, and the parts to leave out (``--without``).
- ``learned_memories``: gives planners what a run of `planbook build` learned, or the knowledge in a library.
- ``learning_events``: records what `planbook build` learned, as events.
- ``states``: reads what a run of `planbook build` knew before its first episode and after each of its episodes.
"""

from typing import TYPE_CHECKING

from planbook import lazy_getattr

if TYPE_CHECKING:
    from planbook.knowledge.learned_memories import learned_memory, library_memory
    from planbook.knowledge.learning_events import (
        ALL_TYPES,
        INITIAL_STATE,
        LEARNED,
        SPOILT,
        learn_once,
        learned_event,
        learning_path,
    )
    from planbook.knowledge.memory import (
        ABLATIONS,
        PROCEDURES,
        RETRIEVAL,
        check_ablations,
        memory_of,
        playing_memory,
        single_parts,
    )
    from planbook.knowledge.states import (
        KnowledgeState,
        WaitingEpisode,
        check_learns,
        formulating_path,
        initial_state,
        learned_in,
        learned_state,
        library_knowledge,
        manual_is_outdated,
        read_undos,
        rule_form_without,
        start_of,
        with_manual,
        with_undos,
    )
else:
    __getattr__ = lazy_getattr(__name__)
