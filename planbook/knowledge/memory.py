"""The memory of a run: from a building run, a library in a folder, or the start alone."""

from collections.abc import Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path

from planbook.config import FOUND, Config
from planbook.envs import Task
from planbook.errors import BadArgument
from planbook.knowledge.state import (
    RETRIEVAL,
    SKILL,
    check_environment,
    check_single,
    form_without,
    group_of,
    learned_in,
    single_parts,
    start_of,
    with_manual,
    without_single,
)
from planbook.manuals import DemonstratingMemory, ProcedureLibrary, excerpt, read_knowledge, usual_starts
from planbook.planner import Memory, Recall, method
from planbook.rules import Knowledge, LearnedMemory, Rule, ablated, spare_code, tell_rules
from planbook.runs import Run, is_run

PROCEDURES = "procedures"
"""The method that plays stored procedures without a model."""


class GroupedMemory:
    """Recalls the knowledge of a task's group; nothing for a group without building tasks."""

    def __init__(self, building: Config, by_group: Mapping[str, Memory]) -> None:
        self._learning, self._by_group = building.learning, by_group

    def recall(self, task: Task) -> Recall:
        """Return the knowledge for a task."""
        assert self._learning is not None
        memory = self._by_group.get(group_of(self._learning, task.type))
        return memory.recall(task) if memory else Recall()


def memory_of(config: Config) -> Memory:
    """Return the memory that a run plays with. Raises BadRun, BadKnowledge, BadProcedure, BadStart."""
    return with_demonstrations(config, _library_memory(config, config.library_folder))


def known_parts(config: Config) -> list[str]:
    """Return the names of the rules and skills of a run's library, each of which can be left out."""
    folder = config.library_folder
    if not is_run(folder):
        return single_parts(read_knowledge(folder, config.environment, config.environment_options))
    with closing(Run.open(folder)) as run:
        check_environment(config, run)
        states = learned_in(run, config.after).values()
        return list(dict.fromkeys(part for state in states for part in single_parts(state.knowledge)))


def with_demonstrations(config: Config, memory: Memory) -> Memory:
    """Return the memory with the demonstrations that the run's method shows."""
    names = method(config.planner).demonstrations
    return DemonstratingMemory(memory, names, config.library_folder) if names else memory


def _library_memory(config: Config, folder: Path) -> Memory:
    if is_run(folder):
        return _run_memory(config, folder)
    if config.after is not None:
        raise BadArgument(f"--after counts tasks of a building run, and {folder} is not one; name one with --library")
    if config.planner == PROCEDURES and config.types != FOUND:
        return _procedure_library(config, folder)
    knowledge = read_knowledge(folder, config.environment, config.environment_options)
    learned = bool(knowledge.rules)
    if not knowledge.example and not method(config.planner).demonstrations:
        knowledge = _with_start(config, knowledge)
    check_single(config.without, [knowledge])
    return learned_memory(config, knowledge, learned=learned)


def _procedure_library(config: Config, folder: Path) -> ProcedureLibrary:
    left_out = [name.removeprefix(SKILL) for name in config.without if name.startswith(SKILL)]
    if left_out:
        check_single(config.without, [read_knowledge(folder, config.environment, config.environment_options)])
    return ProcedureLibrary(config.environment, folder, config.environment_options, left_out)


def learned_memory(config: Config, knowledge: Knowledge, *, learned: bool = True) -> LearnedMemory:
    """Return a memory of this knowledge, without what the run leaves out.

    While rules are built, the planner gets all of them, so that each is tried and cited. Later it gets only those for
    its task, provided that they were ``learned``.
    """
    if config.learning is None:
        knowledge = without_single(knowledge, config.without)
    rules = form_without(set(config.without) - {"logs"}).fitted(knowledge.rules)
    if rules != knowledge.rules:
        knowledge = knowledge.model_copy(update={"rules": rules, "manual": ""})
    manual = ablated(knowledge, config.without).manual
    return LearnedMemory(
        knowledge,
        config.environment,
        config.environment_options,
        without=config.without,
        rule_tokens=config.rule_tokens,
        by_task=learned and config.learning is None and RETRIEVAL not in config.without,
        allow_unrelated=config.learning is None or bool(config.paper),
        tell=partial(_manual_excerpt, manual) if manual else tell_rules,
    )


def _manual_excerpt(manual: str, rules: Sequence[Rule]) -> str:
    return spare_code(excerpt(manual, rules))


def _run_memory(config: Config, folder: Path) -> Memory:
    with closing(Run.open(folder)) as run:
        check_environment(config, run)
        by_group = {group: with_manual(run, group, state) for group, state in learned_in(run, config.after).items()}
        check_single(config.without, by_group.values())
        memories = {group: learned_memory(config, knowledge) for group, knowledge in by_group.items()}
        return GroupedMemory(run.config, memories)


def _with_start(config: Config, knowledge: Knowledge) -> Knowledge:
    """Return the knowledge with the environment's default example and, if it has no rules, the default rules."""
    start = start_of(config, usual_starts(config.environment.name, config.selection.split or ""))
    rules = knowledge.rules or start.rules
    return knowledge.model_copy(update={"example": start.example, "rules": rules})
