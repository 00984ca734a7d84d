"""Memories of learned knowledge: they give planners what a run of `planbook build` learned, or a library's files."""

from collections.abc import Collection, Mapping, Sequence
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import Any

from planbook.config import Config
from planbook.envs import Task
from planbook.knowledge.learning_events import group_of
from planbook.knowledge.memory import RETRIEVAL, SINGLE_PART, SKILL, check_single_parts, single_parts
from planbook.knowledge.states import check_environment, learned_in, rule_form_without, start_of, with_manual
from planbook.manuals import default_starts, excerpt, read_knowledge
from planbook.planner import Memory, Recall, method
from planbook.rules import Knowledge, LearnedMemory, Rule, ablated, mark_optional_code, render_rules
from planbook.runs import Run, is_run


def run_memory(config: Config, folder: Path) -> Memory:
    """Return a memory of what a run of `planbook build` learned. ``folder`` is the folder of that run.

    Raises BadRun if that run cannot be read, or BadArgument if it cannot be used with this configuration.
    """
    with closing(Run.open(folder)) as run:
        check_environment(config, run)
        by_group = {group: with_manual(run, group, state) for group, state in learned_in(run, config.after).items()}
        check_single_parts(config.without, by_group.values())
        memories = {group: learned_memory(config, knowledge) for group, knowledge in by_group.items()}
        return GroupedMemory(run.config, memories)


class GroupedMemory:
    """A memory that recalls, for each task, the knowledge of the task's group.

    A group is a set of task types that share their rules. If the run that learned the knowledge had no tasks of a
    group, nothing is recalled for the tasks of this group.
    """

    def __init__(self, building: Config, by_group: Mapping[str, Memory]) -> None:
        self._learning, self._by_group = building.learning, by_group

    def recall(self, task: Task) -> Recall:
        """Return what the group's memory recalls for a task."""
        assert self._learning is not None
        memory = self._by_group.get(group_of(self._learning, task.type))
        return memory.recall(task) if memory else Recall()


def folder_memory(config: Config, folder: Path) -> Memory:
    """Return a memory of the knowledge in the files of a library.

    A library without an example gets the environment's default example, unless the planner shows demonstrations. If the
    library has no rules either, it gets the rules of that example.

    Raises BadKnowledge or BadStart if a file is invalid, or BadArgument if ``--without`` names a rule or skill that the
    library does not have.
    """
    knowledge = read_knowledge(folder, config.environment, config.environment_options)
    learned = bool(knowledge.rules)
    if not knowledge.example and not method(config.planner).demonstrations:
        start = start_of(config, default_starts(config.environment.name, config.selection.split or ""))
        knowledge = knowledge.model_copy(update={"example": start.example, "rules": knowledge.rules or start.rules})
    check_single_parts(config.without, [knowledge])
    return learned_memory(config, knowledge, learned=learned)


def learned_memory(config: Config, knowledge: Knowledge, *, learned: bool = True) -> LearnedMemory:
    """Return a memory of this knowledge, without the parts that the run leaves out.

    In a run of `planbook build`, the planner gets all rules, so that each rule can be tried and cited. In any other
    run, the planner gets only the rules that its task needs, unless ``learned`` is False: then the rules are from the
    starting knowledge, which has only a few, and the planner gets all of them. With ``--paper``, only helper methods in
    rules are defined for plans, as in the paper.
    """
    knowledge = _reduced(config, knowledge)
    manual = ablated(knowledge, config.without).manual
    return LearnedMemory(
        knowledge,
        config.environment,
        config.environment_options,
        ablations=config.without,
        rule_tokens=config.rule_tokens,
        by_task=learned and config.learning is None and RETRIEVAL not in config.without,
        allow_unrelated=config.learning is None or bool(config.paper),
        skill_helpers=not config.paper,
        render=partial(_manual_excerpt, manual) if manual else render_rules,
    )


def _reduced(config: Config, knowledge: Knowledge) -> Knowledge:
    if config.learning is None:
        knowledge = without_single_parts(knowledge, config.without)
    rules = rule_form_without(set(config.without) - {"logs"}).reduced(knowledge.rules)
    return knowledge if rules == knowledge.rules else knowledge.model_copy(update={"rules": rules, "manual": ""})


def _manual_excerpt(manual: str, rules: Sequence[Rule]) -> str:
    return mark_optional_code(excerpt(manual, rules))


def without_single_parts(knowledge: Knowledge, names: Collection[str]) -> Knowledge:
    """Return the knowledge without the named rules and skills. ``names`` contains, for example, ``skill:TYPE``.

    The procedure for the type of a named skill is removed, too. The named rules are also removed from the manual.
    """
    named = {name for name in names if SINGLE_PART.fullmatch(name)} & set(single_parts(knowledge))
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
    """Return the names of all rules and skills in a run's library, as ``--without`` accepts them."""
    folder = config.library_folder
    if not is_run(folder):
        return single_parts(read_knowledge(folder, config.environment, config.environment_options))
    with closing(Run.open(folder)) as run:
        check_environment(config, run)
        states = learned_in(run, config.after).values()
        return list(dict.fromkeys(part for state in states for part in single_parts(state.knowledge)))
