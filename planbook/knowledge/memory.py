"""The memory that a run plays with: stored procedures, or what was learned; with the method's demonstrations."""

from pathlib import Path

from planbook.config import FOUND, Config
from planbook.errors import BadArgument
from planbook.knowledge.parts import SKILL, check_single
from planbook.manuals import DemonstratingMemory, ProcedureLibrary
from planbook.planner import Memory, method
from planbook.runs import is_run

PROCEDURES = "procedures"
"""The method that plays stored procedures without a model."""


def memory_of(config: Config) -> Memory:
    """Return the memory that a run plays with. Raises BadRun, BadKnowledge, BadProcedure, BadStart."""
    return with_demonstrations(config, _library_memory(config, config.library_folder))


def with_demonstrations(config: Config, memory: Memory) -> Memory:
    """Return the memory with the demonstrations that the run's method shows."""
    names = method(config.planner).demonstrations
    return DemonstratingMemory(memory, names, config.library_folder) if names else memory


def playing_memory(config: Config, learned: Memory) -> Memory:
    """Return the memory of a building run's planner: what was learned so far, or the library's stored procedures."""
    return memory_of(config) if config.planner == PROCEDURES else with_demonstrations(config, learned)


def _library_memory(config: Config, folder: Path) -> Memory:
    built = is_run(folder)
    if config.after is not None and not built:
        raise BadArgument(f"--after counts tasks of a building run, and {folder} is not one; name one with --library")
    if config.planner == PROCEDURES and config.types != FOUND and not built:
        return _procedure_library(config, folder)
    from planbook.knowledge.learned import folder_memory, run_memory  # stored procedures need none of it

    return run_memory(config, folder) if built else folder_memory(config, folder)


def _procedure_library(config: Config, folder: Path) -> ProcedureLibrary:
    left_out = [name.removeprefix(SKILL) for name in config.without if name.startswith(SKILL)]
    if left_out:
        from planbook.manuals import read_knowledge

        check_single(config.without, [read_knowledge(folder, config.environment, config.environment_options)])
    return ProcedureLibrary(config.environment, folder, config.environment_options, left_out)
