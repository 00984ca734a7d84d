"""What was learnt from the trajectories: rules, skills and reflections."""

from rules.ablations import ABLATIONS, ablated
from rules.asking import Terms
from rules.book import RuleBook, rule_text
from rules.builder import Built, build_rules
from rules.cases import (
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
from rules.consolidator import consolidate
from rules.draft import apply
from rules.edits import Author, Batch, Change, DeleteRule, Edit, UpdateRule, WriteRule
from rules.errors import BadHistory, BatchRefused, EditFault, RulesError, UnknownRule
from rules.evidence import Citation, Evidence, count
from rules.generalise import Attempt, Generalised, Verification, generalise, verified
from rules.helpers import Helpers, helper_code, helper_sources
from rules.history import Applied, Entry, History, Undone, replay, say_more
from rules.libraries import admit, learn, shown
from rules.memory import LearntMemory
from rules.naming import citations, read_type
from rules.retrieval import most_similar, ranked, rules_for, select_rules
from rules.system import Edited, RuleSystem, run_edits
from rules.telling import spare_code, tell_manual, tell_rules, tell_world
from rules.types import Knowledge, Learnt, Reflection, Rule, RuleType, Skill

__all__ = [
    "ABLATIONS",
    "BUILDER",
    "BUILDER_WITHOUT_CASES",
    "CONSOLIDATOR",
    "USER",
    "Applied",
    "Attempt",
    "Author",
    "BadHistory",
    "Batch",
    "BatchRefused",
    "Blame",
    "Built",
    "Case",
    "Change",
    "Citation",
    "DeleteRule",
    "Edit",
    "EditFault",
    "Edited",
    "Entry",
    "Evidence",
    "Form",
    "Generalised",
    "Helpers",
    "History",
    "Knowledge",
    "Learnt",
    "LearntMemory",
    "Permissions",
    "Reflection",
    "Rule",
    "RuleBook",
    "RuleSystem",
    "RuleType",
    "RulesError",
    "Skill",
    "Terms",
    "Undone",
    "UnknownRule",
    "UpdateRule",
    "Verification",
    "WriteRule",
    "ablated",
    "admit",
    "apply",
    "build_rules",
    "case_of",
    "citations",
    "consolidate",
    "count",
    "generalise",
    "helper_code",
    "helper_sources",
    "learn",
    "most_similar",
    "ranked",
    "read_blame",
    "read_type",
    "replay",
    "rule_text",
    "rules_for",
    "run_edits",
    "say_more",
    "select_rules",
    "shown",
    "spare_code",
    "tell_manual",
    "tell_rules",
    "tell_world",
    "verified",
]
