"""What was learnt from the trajectories: rules, skills and reflections."""

from rules.ablations import ABLATIONS, ablated
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
from rules.generalise import Attempt, Generalised, Verification, generalise, verified
from rules.helpers import Helpers, helper_code, helper_sources
from rules.history import Applied, Entry, History, Undone, replay
from rules.libraries import admit, learn, shown
from rules.memory import LearntMemory
from rules.naming import citations, read_type
from rules.retrieval import most_similar, ranked, select_rules, tokens
from rules.system import Edited, RuleSystem, run_edits
from rules.telling import tell_manual, tell_rules
from rules.types import Knowledge, Reflection, Rule, RuleType, Skill

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
    "LearntMemory",
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
    "Verification",
    "WriteRule",
    "ablated",
    "admit",
    "apply",
    "case_of",
    "citations",
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
    "run_edits",
    "select_rules",
    "shown",
    "tell_manual",
    "tell_rules",
    "tokens",
    "verified",
]
