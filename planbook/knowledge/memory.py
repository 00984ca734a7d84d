"""Choose the memory that a run uses: stored procedures or learned knowledge, with the demonstrations of its method."""

from pathlib import Path

from planbook.config import FOUND, Config
from planbook.errors import BadArgument
from planbook.knowledge.parts import SKILL, check_single_parts
from planbook.manuals import DemonstratingMemory, ProcedureLibrary
from planbook.planner import Memory, method
from planbook.runs import is_run

PROCEDURES = "procedures"
"""Name of the planning method that plays stored procedures without a model."""


def memory_of(config: Config) -> Memory:
    """Return the memory that a run uses. Raises BadRun, BadKnowledge, BadProcedure or BadStart if it cannot be read."""
    return with_demonstrations(config, _library_memory(config, config.library_folder))


def with_demonstrations(config: Config, memory: Memory) -> Memory:
    """Return the memory with the demonstrations that the run's planning method shows to its models."""
    names = method(config.planner).demonstrations
    return DemonstratingMemory(memory, names, config.library_folder) if names else memory


def playing_memory(config: Config, learned: Memory) -> Memory:
    """Return the memory for the planner of a run of `planbook build`.

    It is ``learned``, the memory of what the run has learned so far. If the planner plays stored procedures, it is the
    memory of the run's library.
    """
    return memory_of(config) if config.planner == PROCEDURES else with_demonstrations(config, learned)


def _library_memory(config: Config, folder: Path) -> Memory:
    holds_run = is_run(folder)
    if config.after is not None and not holds_run:
        raise BadArgument(
            f"--after counts tasks of a run of `planbook build`, and {folder} is not one; name one with --library"
        )
    if config.planner == PROCEDURES and config.types != FOUND and not holds_run:
        return _procedure_library(config, folder)
    from planbook.knowledge.learned import folder_memory, run_memory  # not needed for stored procedures

    return run_memory(config, folder) if holds_run else folder_memory(config, folder)


def _procedure_library(config: Config, folder: Path) -> ProcedureLibrary:
    left_out = [name.removeprefix(SKILL) for name in config.without if name.startswith(SKILL)]
    if left_out:
        from planbook.manuals import read_knowledge

        check_single_parts(config.without, [read_knowledge(folder, config.environment, config.environment_options)])
    return ProcedureLibrary(config.environment, folder, config.environment_options, left_out)
