"""The knowledge that a run uses, and what a run of `planbook build` has learned so far.

- ``memory``: chooses where a run's planner gets its knowledge from.
- ``learned``: gives planners the knowledge that `planbook build` learned, or that the files of a library contain.
- ``state``: the knowledge of a run of `planbook build` after each of its episodes.
- ``record``: the events in which `planbook build` records what it learned.
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
        initial_state,
        learned_in,
        manual_is_outdated,
        read_undos,
        rule_form_without,
        start_of,
        with_manual,
        with_undos,
    )
else:
    __getattr__ = lazy_getattr(__name__)
