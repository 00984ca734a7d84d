"""The memory of what was learned, in a building run or a library's files."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from planbook.config import Config
from planbook.envs import Task
from planbook.knowledge.parts import RETRIEVAL, SINGLE, SKILL, check_single, single_parts
from planbook.knowledge.record import group_of
from planbook.knowledge.state import check_environment, form_without, learned_in, start_of, with_manual
from planbook.manuals import excerpt, read_knowledge, usual_starts
from planbook.planner import Memory, Recall, method
from planbook.rules import Knowledge, LearnedMemory, Rule, ablated, mark_optional_code, tell_rules
from planbook.runs import Run, is_run


def run_memory(config: Config, folder: Path) -> Memory:
    """Return the memory of what a building run learned. Raises BadRun, BadArgument."""
    with closing(Run.open(folder)) as run:
        check_environment(config, run)
        by_group = {group: with_manual(run, group, state) for group, state in learned_in(run, config.after).items()}
        check_single(config.without, by_group.values())
        memories = {group: learned_memory(config, knowledge) for group, knowledge in by_group.items()}
        return GroupedMemory(run.config, memories)


class GroupedMemory:
    """Recalls the knowledge of a task's group; nothing for a group without building tasks."""

    def __init__(self, building: Config, by_group: Mapping[str, Memory]) -> None:
        self._learning, self._by_group = building.learning, by_group

    def recall(self, task: Task) -> Recall:
        """Return the knowledge for a task."""
        assert self._learning is not None
        memory = self._by_group.get(group_of(self._learning, task.type))
        return memory.recall(task) if memory else Recall()


def folder_memory(config: Config, folder: Path) -> Memory:
    """Return the memory of the knowledge in a folder of files. Raises BadKnowledge, BadStart, BadArgument."""
    knowledge = read_knowledge(folder, config.environment, config.environment_options)
    learned = bool(knowledge.rules)
    if not knowledge.example and not method(config.planner).demonstrations:
        knowledge = _with_start(config, knowledge)
    check_single(config.without, [knowledge])
    return learned_memory(config, knowledge, learned=learned)


def _with_start(config: Config, knowledge: Knowledge) -> Knowledge:
    """Return the knowledge with the environment's default example and, if it has no rules, the default rules."""
    start = start_of(config, usual_starts(config.environment.name, config.selection.split or ""))
    rules = knowledge.rules or start.rules
    return knowledge.model_copy(update={"example": start.example, "rules": rules})


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
    return mark_optional_code(excerpt(manual, rules))


def without_single(knowledge: Knowledge, names: Collection[str]) -> Knowledge:
    """Return the knowledge without the named rules and skills; the manual loses only the rules.

    The procedure made from a skill is left out with it.
    """
    named = {name for name in names if SINGLE.fullmatch(name)} & set(single_parts(knowledge))
    if not named:
        return knowledge
    rules = tuple(rule for rule in knowledge.rules if rule.id not in named)
    kept: dict[str, Any] = {
        part: {kind: value for kind, value in getattr(knowledge, part).items() if f"{SKILL}{kind}" not in named}
        for part in ("skills", "procedures")
    }
    manual = excerpt(knowledge.manual, rules) if knowledge.manual and rules else ""
    return knowledge.model_copy(update={**kept, "rules": rules, "manual": manual})


def known_parts(config: Config) -> list[str]:
    """Return the names of the rules and skills of a run's library, each of which can be left out."""
    folder = config.library_folder
    if not is_run(folder):
        return single_parts(read_knowledge(folder, config.environment, config.environment_options))
    with closing(Run.open(folder)) as run:
        check_environment(config, run)
        states = learned_in(run, config.after).values()
        return list(dict.fromkeys(part for state in states for part in single_parts(state.knowledge)))
