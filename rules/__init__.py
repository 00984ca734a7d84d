"""Learn from trajectories: rules, skills, reflections and procedures.

- ``types`` defines the records of what is learned. ``book`` holds the rules in force and counts their evidence.
- ``edits`` defines the changes to rules and their history; ``draft`` applies a batch as a whole, or refuses it
  and reports every fault. ``cases`` says who may change what; ``system`` offers the edits to a model's plan code.
  ``obedience`` runs the checks that rules may carry.
- ``builder`` asks for changes, as Builder and as Consolidator.
- ``procedures`` generalises the code of a success and verifies it. ``helpers`` collects harmless functions that plans
  may call.
- ``found_types`` groups solved tasks by the shapes of their ``plans``, ``describing`` names the groups, ``matching``
  finds the type of a goal.
- ``memory`` recalls knowledge for a task, and can leave parts of it out (ablations); ``retrieval`` selects rules,
  skills and reflections; ``telling`` renders them for prompts. ``errors`` defines the exceptions.
"""

if __name__ == "rules":
    raise ImportError("rules is a package of planbook: import planbook.rules", name="rules")

from typing import TYPE_CHECKING

from planbook import lazily

if TYPE_CHECKING:
    from planbook.rules.book import (
        NO_EVIDENCE,
        Citation,
        Evidence,
        RuleBook,
        cites,
        count,
        evidence_table,
        rule_text,
        useless,
    )
    from planbook.rules.builder import BuilderSettings, build_rules, consolidate
    from planbook.rules.cases import Blame, Form
    from planbook.rules.describing import describe_type
    from planbook.rules.edits import Applied, History, new_lesson_ids
    from planbook.rules.errors import RulesError
    from planbook.rules.found_types import MIN_EXAMPLES, Solved, procedure_code, with_solved
    from planbook.rules.matching import PATTERN, match
    from planbook.rules.memory import LearnedMemory, ablated, with_type
    from planbook.rules.obedience import check_problem, rules_obeyed
    from planbook.rules.procedures import Verification, generalise, learned_procedure, verified
    from planbook.rules.retrieval import admit, learn, rules_for
    from planbook.rules.telling import PROMPTS, mark_optional_code, tell_environment, tell_manual, tell_rules
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
    )
else:
    __getattr__ = lazily(__name__)

__all__ = [
    "MIN_EXAMPLES",
    "NO_EVIDENCE",
    "PATTERN",
    "PROMPTS",
    "Applied",
    "Blame",
    "BuilderSettings",
    "Citation",
    "Evidence",
    "Form",
    "FoundType",
    "History",
    "Knowledge",
    "Learned",
    "LearnedMemory",
    "Reflection",
    "Rule",
    "RuleBook",
    "RuleType",
    "RulesError",
    "Skill",
    "Solved",
    "Verification",
    "ablated",
    "admit",
    "build_rules",
    "check_problem",
    "citations",
    "cites",
    "consolidate",
    "count",
    "describe_type",
    "evidence_table",
    "generalise",
    "learn",
    "learned_procedure",
    "mark_optional_code",
    "match",
    "new_lesson_ids",
    "procedure_code",
    "read_type",
    "rule_number",
    "rule_text",
    "rules_for",
    "rules_obeyed",
    "tell_environment",
    "tell_manual",
    "tell_rules",
    "useless",
    "verified",
    "with_solved",
    "with_type",
]
