"""Learn from trajectories: rules, skills, reflections and procedures.

- ``types``: what is learned. ``book`` holds the rules in force and counts the evidence for each, ``history`` every
  change to them; ``naming`` reads their ids and types.
- ``edits`` and ``draft``: a batch of changes, applied as a whole or refused with every fault. ``cases`` says who may
  change what, ``system`` offers the changes to plan code of a model. ``obedience`` runs the checks
  that rules may carry.
- ``builder`` asks for changes, as Builder and as Consolidator.
- ``procedures`` generalises the code of a success and verifies it; ``harmless`` refuses some, ``helpers`` are functions
  that plans may call. ``libraries`` adds what was learned to knowledge.
- ``found_types`` groups solved tasks by the shapes of their ``plans``, ``describing`` names the groups, ``matching``
  finds the type of a goal.
- ``memory`` recalls knowledge for a task; ``retrieval`` selects it, ``telling`` renders it for prompts. ``ablations``
  leave parts of it out.
"""

if __name__ == "rules":
    raise ImportError("rules is a package of planbook: import planbook.rules", name="rules")


from typing import TYPE_CHECKING

from planbook.surface import lazily

if TYPE_CHECKING:
    from planbook.rules.ablations import ABLATIONS, ablated
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
    from planbook.rules.builder import BuilderSettings, Built, build_rules, consolidate
    from planbook.rules.cases import (
        BUILDER,
        BUILDER_WITHOUT_CASES,
        CONSOLIDATOR,
        USER,
        Blame,
        Case,
        Form,
        Permissions,
        case_of,
        read_blame,
    )
    from planbook.rules.describing import describe_type
    from planbook.rules.draft import apply
    from planbook.rules.edits import Author, Batch, DeleteRule, Edit, RuleChange, UpdateRule, WriteRule
    from planbook.rules.errors import BadHistory, BatchRefused, EditFault, RulesError, UnknownRule
    from planbook.rules.found_types import MIN_EXAMPLES, Solved, as_procedure, procedure_code, with_solved
    from planbook.rules.helpers import Helpers, helper_code, helper_sources
    from planbook.rules.history import Applied, Entry, History, Undone, replay, say_more
    from planbook.rules.libraries import admit, learn, shown
    from planbook.rules.matching import PATTERN, match
    from planbook.rules.memory import LearnedMemory, with_type
    from planbook.rules.naming import citations, read_type, rule_number
    from planbook.rules.obedience import BadCheck, Obedience, check_problem, obeyed, rules_obeyed
    from planbook.rules.plans import plan_shape
    from planbook.rules.procedures import Attempt, Generalised, Verification, generalise, learned_procedure, verified
    from planbook.rules.retrieval import most_similar, ranked, rules_for, select_rules
    from planbook.rules.system import Edited, RuleSystem, run_edits
    from planbook.rules.telling import PROMPTS, spare_code, tell_manual, tell_rules, tell_world
    from planbook.rules.types import FoundType, Knowledge, Learned, Reflection, Rule, RuleType, Skill
else:
    __getattr__ = lazily(__name__)

__all__ = [
    "ABLATIONS",
    "BUILDER",
    "BUILDER_WITHOUT_CASES",
    "CONSOLIDATOR",
    "MIN_EXAMPLES",
    "NO_EVIDENCE",
    "PATTERN",
    "PROMPTS",
    "USER",
    "Applied",
    "Attempt",
    "Author",
    "BadCheck",
    "BadHistory",
    "Batch",
    "BatchRefused",
    "Blame",
    "BuilderSettings",
    "Built",
    "Case",
    "Citation",
    "DeleteRule",
    "Edit",
    "EditFault",
    "Edited",
    "Entry",
    "Evidence",
    "Form",
    "FoundType",
    "Generalised",
    "Helpers",
    "History",
    "Knowledge",
    "Learned",
    "LearnedMemory",
    "Obedience",
    "Permissions",
    "Reflection",
    "Rule",
    "RuleBook",
    "RuleChange",
    "RuleSystem",
    "RuleType",
    "RulesError",
    "Skill",
    "Solved",
    "Undone",
    "UnknownRule",
    "UpdateRule",
    "Verification",
    "WriteRule",
    "ablated",
    "admit",
    "apply",
    "as_procedure",
    "build_rules",
    "case_of",
    "check_problem",
    "citations",
    "cites",
    "consolidate",
    "count",
    "describe_type",
    "evidence_table",
    "generalise",
    "helper_code",
    "helper_sources",
    "learn",
    "learned_procedure",
    "match",
    "most_similar",
    "obeyed",
    "plan_shape",
    "procedure_code",
    "ranked",
    "read_blame",
    "read_type",
    "replay",
    "rule_number",
    "rule_text",
    "rules_for",
    "rules_obeyed",
    "run_edits",
    "say_more",
    "select_rules",
    "shown",
    "spare_code",
    "tell_manual",
    "tell_rules",
    "tell_world",
    "useless",
    "verified",
    "with_solved",
    "with_type",
]
