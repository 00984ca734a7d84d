"""The knowledge that a run uses, and what a run of `planbook build` has learned so far.

- ``memory``: chooses the source of the knowledge that a run's planner gets, and the parts to leave out (``--without``).
- ``learned``: reads what a run of `planbook build` knew after each of its episodes. Gives planners this knowledge, or
  the knowledge in the files of a library.
- ``record``: records what `planbook build` learned, as events.
"""

from typing import TYPE_CHECKING

from planbook import lazy_getattr

if TYPE_CHECKING:
    from planbook.knowledge.learned import (
        KnowledgeState,
        check_environment,
        initial_state,
        known_parts,
        learned_in,
        learned_memory,
        manual_is_outdated,
        read_undos,
        rule_form_without,
        start_of,
        with_manual,
        with_undos,
    )
    from planbook.knowledge.memory import ABLATIONS, PROCEDURES, RETRIEVAL, check_ablations, memory_of, playing_memory
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
else:
    __getattr__ = lazy_getattr(__name__)
