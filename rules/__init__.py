"""Learn from trajectories: rules, skills, reflections and procedures.

Records
    ``types``: rules, skills, reflections, found task types (see below), and ``Knowledge``, which holds all of them.
    ``book``: the current rules, and the history of all changes.
    ``evidence``: counts the episodes that cited each rule, and those that obeyed it according to its check.

Changing rules
    ``builder``: asks a model to write rules (the Builder) or to merge and delete them (the Consolidator).
    It also asks the Builder to name and describe found task types.
    ``rule_system``: the functions, such as ``rule_system.write_rule``, that the code in the model's reply calls. The
    edits of one reply are accepted or refused as a whole.
    ``edit_faults``: checks a single edit.
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

if TYPE_CHECKING:  # `X as X` tells type checkers that X is public
    from planbook.rules.book import (
        History as History,
        RuleBook as RuleBook,
        RulesError as RulesError,
        cited_ids as cited_ids,
        new_lesson_ids as new_lesson_ids,
        rule_text as rule_text,
    )
    from planbook.rules.builder import (
        BuilderSettings as BuilderSettings,
        build_rules as build_rules,
        consolidate as consolidate,
        describe_type as describe_type,
    )
    from planbook.rules.evidence import (
        NO_EVIDENCE as NO_EVIDENCE,
        Citation as Citation,
        Evidence as Evidence,
        check_problem as check_problem,
        count_evidence as count_evidence,
        evidence_table as evidence_table,
        run_checks as run_checks,
        useless_rules as useless_rules,
    )
    from planbook.rules.found_types import (
        MIN_EXAMPLES as MIN_EXAMPLES,
        SolvedTask as SolvedTask,
        procedure_code as procedure_code,
        with_solved_task as with_solved_task,
    )
    from planbook.rules.learned_memory import (
        RULES_PART as RULES_PART,
        LearnedMemory as LearnedMemory,
        ablated as ablated,
        rules_for as rules_for,
        with_type as with_type,
    )
    from planbook.rules.matching import PATTERN as PATTERN, match as match
    from planbook.rules.permissions import Blame as Blame, RuleForm as RuleForm
    from planbook.rules.procedures import (
        Verification as Verification,
        generalise as generalise,
        learned_procedure as learned_procedure,
        params_read as params_read,
        verification_of as verification_of,
    )
    from planbook.rules.rendering import (
        PROMPTS as PROMPTS,
        mark_optional_code as mark_optional_code,
        render_environment as render_environment,
        render_manual as render_manual,
        render_rules as render_rules,
    )
    from planbook.rules.types import (
        FoundType as FoundType,
        Knowledge as Knowledge,
        LearnedRecord as LearnedRecord,
        Reflection as Reflection,
        Rule as Rule,
        RuleType as RuleType,
        Skill as Skill,
        citations as citations,
        read_type as read_type,
        rule_number as rule_number,
        with_conclusion as with_conclusion,
        with_procedure as with_procedure,
    )
else:
    __getattr__ = lazy_getattr(__name__)
