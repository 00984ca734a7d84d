"""Memories of the knowledge that a run of `planbook build` learned, or that a library's files contain."""

from collections.abc import Collection
from typing import Any

from planbook.config import Config
from planbook.knowledge.memory import RETRIEVAL, SINGLE_PART, SKILL, check_single_parts, single_parts
from planbook.knowledge.states import library_knowledge, rule_form_without, starting_knowledge
from planbook.manuals import default_starts, excerpt
from planbook.planner import Memory, method
from planbook.rules import Knowledge, LearnedMemory, ablated, mark_optional_code, render_rules
from planbook.runs import is_run


def library_memory(config: Config) -> Memory:
    """Return a memory of the knowledge in the run's library.

    Raises BadRun, BadKnowledge or BadStart if the library cannot be read. Raises BadArgument if it cannot be used with
    this configuration, or if ``--without`` names a rule or skill that it does not have.
    """
    knowledge, learned = library_knowledge(config), True
    if not is_run(config.library_folder):
        knowledge, learned = _with_default_example(config, knowledge), bool(knowledge.rules)
    check_single_parts(config.without, knowledge)
    return learned_memory(config, knowledge, learned=learned)


def _with_default_example(config: Config, knowledge: Knowledge) -> Knowledge:
    """Return the knowledge, with the environment's default example if it has none.

    If it has no rules either, it gets the rules of that example. If the planner shows demonstrations instead, the
    knowledge is returned unchanged.
    """
    if knowledge.example or method(config.planner).demonstrations:
        return knowledge
    start = starting_knowledge(config, default_starts(config.environment.name, config.selection.split or ""))
    return knowledge.model_copy(update={"example": start.example, "rules": knowledge.rules or start.rules})


def learned_memory(config: Config, knowledge: Knowledge, *, learned: bool = True) -> LearnedMemory:
    """Return a memory of this knowledge, without the parts that the run leaves out.

    In a run of `planbook build`, the planner gets all rules, so that each rule can be tried and cited. In any other
    run, the planner gets only the rules that its task needs. If ``learned`` is False, however, the rules are only the
    few in the starting knowledge, and the planner gets them all. With ``--paper``, plans can call the helper methods in
    rules, but not the functions of skills, as in the paper.
    """
    knowledge = _without_left_out_parts(config, knowledge)
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
        render=(lambda rules: mark_optional_code(excerpt(manual, rules))) if manual else render_rules,
    )


def _without_left_out_parts(config: Config, knowledge: Knowledge) -> Knowledge:
    if config.learning is None:
        knowledge = without_single_parts(knowledge, config.without)
    rules = rule_form_without(set(config.without) - {"logs"}).apply_to(knowledge.rules)
    return knowledge if rules == knowledge.rules else knowledge.model_copy(update={"rules": rules, "manual": ""})


def without_single_parts(knowledge: Knowledge, names: Collection[str]) -> Knowledge:
    """Return the knowledge without the named rules and skills. A skill has a name such as ``skill:TYPE``.

    Together with a skill, the procedure for its type is removed. Rules are also removed from the manual.
    """
    removed = {name for name in names if SINGLE_PART.fullmatch(name)} & set(single_parts(knowledge))
    if not removed:
        return knowledge
    rules = tuple(rule for rule in knowledge.rules if rule.id not in removed)
    kept: dict[str, Any] = {
        part: {kind: value for kind, value in getattr(knowledge, part).items() if f"{SKILL}{kind}" not in removed}
        for part in ("skills", "procedures")
    }
    manual = excerpt(knowledge.manual, rules) if knowledge.manual and rules else ""
    return knowledge.model_copy(update={**kept, "rules": rules, "manual": manual})
