"""Choose the memory that a run uses, and the parts of the knowledge that it leaves out (``--without``).

For a task, a memory gives the planner either a stored procedure or learned knowledge, in addition to the
demonstrations that the run's planning method shows to its models.
"""

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING

from planbook import knowledge  # a lazy package: stored procedures are played without its other modules
from planbook.config import FOUND, Config
from planbook.errors import BadArgument
from planbook.manuals import DemonstratingMemory, ProcedureLibrary
from planbook.planner import Memory, method
from planbook.runs import is_run

if TYPE_CHECKING:
    from planbook.rules import Knowledge

PROCEDURES = "procedures"
"""Name of the planning method that plays stored procedures without a model."""


def memory_of(config: Config) -> Memory:
    """Return the memory that a run uses. Raises BadRun, BadKnowledge, BadProcedure or BadStart if it cannot be read."""
    return with_demonstrations(config, _library_memory(config))


def with_demonstrations(config: Config, memory: Memory) -> Memory:
    """Return a memory that adds the demonstrations for the run's planning method to what ``memory`` recalls."""
    names = method(config.planner).demonstrations
    return DemonstratingMemory(memory, names, config.library_folder) if names else memory


def playing_memory(config: Config, learned: Memory) -> Memory:
    """Return the memory for the planner of a run of `planbook build`.

    This is ``learned``, the memory of what the run has learned so far, with demonstrations. If the planner plays stored
    procedures, it is a memory of the run's library instead.
    """
    return memory_of(config) if config.planner == PROCEDURES else with_demonstrations(config, learned)


def _library_memory(config: Config) -> Memory:
    folder = config.library_folder
    holds_run = is_run(folder)
    if config.after is not None and not holds_run:
        raise BadArgument(
            f"--after counts tasks of a run of `planbook build`, but {folder} is not one; name one with --library"
        )
    if config.planner == PROCEDURES and config.types != FOUND and not holds_run:
        left_out = [name for name in config.without if SINGLE_PART.fullmatch(name)]
        if left_out:
            check_single_parts(left_out, knowledge.library_knowledge(config))
        skipped = [name.removeprefix(SKILL) for name in left_out if name.startswith(SKILL)]
        return ProcedureLibrary(config.environment, folder, config.environment_options, skipped)
    return knowledge.library_memory(config)


# The values of ``--without``: the ablations of the AutoManual paper, and single rules and skills

RETRIEVAL = "retrieval"
ABLATIONS = (
    "rules", "libraries", "online", "cases", "classification", "formulation", "types", "examples", "logs", "helpers",
    RETRIEVAL, "cooperation",
)  # fmt: skip
"""Names of ablations. ``docs/learning.md`` describes a run without each of them."""
SKILL = "skill:"
SINGLE_PART = re.compile(rf"rule_\d+|{SKILL}.+")
"""Matches the name of a single part: ``rule_N`` for a rule, or ``skill:TYPE`` for the skill and procedure of a type."""


def check_ablations(names: Iterable[str], *, for_build: bool = False) -> None:
    """Raise BadArgument if one of the names (values of ``--without``) is unknown.

    With ``for_build``, single rules and skills are refused as well, because `planbook build` cannot leave them out.
    This function does not check whether a single rule or skill exists.
    """
    single = [] if for_build else [name for name in names if SINGLE_PART.fullmatch(name)]
    if unknown := sorted(set(names) - set(ABLATIONS) - set(single)):
        others = "" if for_build else "rule_N, skill:TYPE, "
        several = "; repeat --without for each part" if "," in unknown[0] else ""
        raise BadArgument(
            f"--without {unknown[0]}: there is no such part; the parts are {others}{', '.join(ABLATIONS)}{several}"
        )


def check_single_parts(names: Iterable[str], knowledge: "Knowledge") -> None:
    """Raise BadArgument if ``names`` contains a rule or skill that does not exist in the knowledge."""
    existing = sorted(single_parts(knowledge))
    if unknown := sorted(name for name in set(names) - set(existing) if SINGLE_PART.fullmatch(name)):
        raise BadArgument(
            f"--without {unknown[0]}: there is no such rule or skill; known: {', '.join(existing) or 'none'}"
        )


def single_parts(knowledge: "Knowledge") -> list[str]:
    """Return the names of all rules and skills, as ``--without`` accepts them."""
    kinds = sorted({*knowledge.skills, *knowledge.procedures})
    return [*(rule.id for rule in knowledge.rules), *(f"{SKILL}{kind}" for kind in kinds)]
