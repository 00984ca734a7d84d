"""The knowledge that a run uses, and the knowledge that a run of `planbook build` has learned so far.

- ``memory``: chooses the source of the knowledge that a run's planner gets, and the parts to leave out (``--without``).
- ``learned_memories``: gives planners what a run of `planbook build` learned, or the knowledge in a library.
- ``learning_events``: records what `planbook build` learned, as events.
- ``states``: reads the knowledge of a run of `planbook build` before its first episode and after each episode.
"""

from typing import TYPE_CHECKING

from planbook import lazy_getattr

if TYPE_CHECKING:
    from planbook.knowledge.learned_memories import learned_memory, library_memory
    from planbook.knowledge.learning_events import (
        ALL_TYPES,
        FAILURE_KEY,
        INITIAL_STATE,
        LEARNED,
        learn_once,
        learned_event,
        learning_scope,
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
        find_learned_state,
        formulating_scope,
        initial_state,
        learned_state,
        library_knowledge,
        manual_is_outdated,
        read_undos,
        rule_form_without,
        starting_knowledge,
        with_manual,
        with_undos,
    )
else:
    __getattr__ = lazy_getattr(__name__)
