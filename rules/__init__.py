"""Learn from trajectories: rules, skills, reflections and procedures.

Records
    ``types``: rules, skills, reflections, found task types (see below), and ``Knowledge``, which holds all of them.
    ``book``: the current rules, the edits that change them, and the history of all changes.
    ``evidence``: counts the episodes that cited each rule, and those that obeyed it according to its check.

Changing rules
    ``builder``: asks a model to write rules (the Builder) or to merge and delete them (the Consolidator).
    It also asks the Builder to name and describe found task types.
    ``rule_system``: the functions, such as ``rule_system.write_rule``, that the code in the model's reply calls.
    ``edit_batch``: checks the edits of one reply, and accepts or refuses them as a whole.
    ``permissions``: lists the edits that are allowed after each kind of episode.

Procedures and task types
    ``procedures``: turns the code that solved a task into a procedure for all tasks of its type, and verifies it.
    ``helper_methods``: collects helper methods from rules and skills if they are safe to run, so that every plan can
    call them.
    ``plan_shapes``: computes the shape of a plan: its code without constants and variable names.
    ``found_types``: finds task types: groups of solved tasks whose plans have the same shape.
    ``matching``: finds the type of a new goal.
    ``goal_words``: compares texts by their words, and finds values in goals.

Using knowledge
    ``learned_memory``: selects the rules, skills and reflections that a planner is shown for a task. It also applies
    ablations, which leave out a part of the knowledge to measure its value.
    ``rendering``: renders rules, skills and reflections for prompts.
"""

if __name__ == "rules":
    raise ImportError("rules is a package of planbook: import planbook.rules", name="rules")

from typing import TYPE_CHECKING

from planbook import lazy_getattr

if TYPE_CHECKING:
    from planbook.rules.book import History, RuleBook, RulesError, cited_ids, new_lesson_ids, rule_text
    from planbook.rules.builder import BuilderSettings, build_rules, consolidate, describe_type
    from planbook.rules.evidence import (
        NO_EVIDENCE,
        Citation,
        Evidence,
        check_problem,
        count_evidence,
        evidence_table,
        rules_obeyed,
        useless_rules,
    )
    from planbook.rules.found_types import MIN_EXAMPLES, SolvedTask, procedure_code, with_solved_task
    from planbook.rules.learned_memory import RULES_PART, LearnedMemory, ablated, rules_for, with_type
    from planbook.rules.matching import PATTERN, match
    from planbook.rules.permissions import Blame, RuleForm
    from planbook.rules.procedures import Verification, generalise, learned_procedure, params_read, verification_of
    from planbook.rules.rendering import PROMPTS, mark_optional_code, render_environment, render_manual, render_rules
    from planbook.rules.types import (
        FoundType,
        Knowledge,
        Learned,
        Reflection,
        Rule,
        RuleType,
        Skill,
        citations,
        read_type,
        rule_number,
        with_conclusion,
        with_procedure,
    )
else:
    __getattr__ = lazy_getattr(__name__)

__all__ = [
    "MIN_EXAMPLES",
    "NO_EVIDENCE",
    "PATTERN",
    "PROMPTS",
    "RULES_PART",
    "Blame",
    "BuilderSettings",
    "Citation",
    "Evidence",
    "FoundType",
    "History",
    "Knowledge",
    "Learned",
    "LearnedMemory",
    "Reflection",
    "Rule",
    "RuleBook",
    "RuleForm",
    "RuleType",
    "RulesError",
    "Skill",
    "SolvedTask",
    "Verification",
    "ablated",
    "build_rules",
    "check_problem",
    "citations",
    "cited_ids",
    "consolidate",
    "count_evidence",
    "describe_type",
    "evidence_table",
    "generalise",
    "learned_procedure",
    "mark_optional_code",
    "match",
    "new_lesson_ids",
    "params_read",
    "procedure_code",
    "read_type",
    "render_environment",
    "render_manual",
    "render_rules",
    "rule_number",
    "rule_text",
    "rules_for",
    "rules_obeyed",
    "useless_rules",
    "verification_of",
    "with_conclusion",
    "with_procedure",
    "with_solved_task",
    "with_type",
]
