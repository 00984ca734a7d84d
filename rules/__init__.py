"""What was learnt from the trajectories: rules, skills and reflections."""

from rules.book import RuleBook, rule_text
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
from rules.draft import apply
from rules.edits import Author, Batch, Change, DeleteRule, Edit, UpdateRule, WriteRule
from rules.errors import BadHistory, BatchRefused, EditFault, RulesError, UnknownRule
from rules.evidence import Citation, Evidence
from rules.helpers import Helpers, helper_code, helper_sources
from rules.history import Applied, Entry, History, Undone, replay
from rules.naming import citations, read_type
from rules.retrieval import most_similar, ranked, select_rules, tokens
from rules.system import Edited, RuleSystem, run_edits
from rules.types import Knowledge, Reflection, Rule, RuleType, Skill

__all__ = [
    "BUILDER",
    "BUILDER_WITHOUT_CASES",
    "CONSOLIDATOR",
    "USER",
    "Applied",
    "Author",
    "BadHistory",
    "Batch",
    "BatchRefused",
    "Blame",
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
    "Helpers",
    "History",
    "Knowledge",
    "Permissions",
    "Reflection",
    "Rule",
    "RuleBook",
    "RuleSystem",
    "RuleType",
    "RulesError",
    "Skill",
    "Undone",
    "UnknownRule",
    "UpdateRule",
    "WriteRule",
    "apply",
    "case_of",
    "citations",
    "helper_code",
    "helper_sources",
    "most_similar",
    "ranked",
    "read_blame",
    "read_type",
    "replay",
    "rule_text",
    "run_edits",
    "select_rules",
    "tokens",
]
