"""The edits to rules that are allowed after each kind of episode (AutoManual, section 3.3).

The paper distinguishes five kinds of episodes, called cases. A model called the Builder writes rules after an episode.
Another one, the Consolidator, merges and deletes rules.
"""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum

from pydantic import Field

from planbook.planner import Outcome
from planbook.rules.types import HOW_TO_TYPES, LearnedRecord, Rule, RuleType


class Blame(StrEnum):
    """The Builder's verdict on what caused the errors of an episode: the rules or the agent."""

    IMPERFECT_RULES = "Imperfect Rules"
    """The rules lacked what the agent needed."""
    IMPERFECT_AGENT = "Imperfect Agent"
    """The rules were right, but the agent did not follow them."""


class Case(StrEnum):
    """The five kinds of episodes, in the order of the paper."""

    DIRECT_SUCCESS = "direct success"
    INDIRECT_IMPERFECT_RULES = "indirect success, imperfect rules"
    INDIRECT_IMPERFECT_AGENT = "indirect success, imperfect agent"
    FAILURE_IMPERFECT_RULES = "failure, imperfect rules"
    FAILURE_IMPERFECT_AGENT = "failure, imperfect agent"

    @property
    def number(self) -> int:
        """The number of the case in the paper, from 1."""
        return list(Case).index(self) + 1


def case_of(outcome: Outcome, blame: Blame) -> Case:
    """Return the case of an episode that was played to its end. After a direct success, ``blame`` is ignored."""
    if outcome is Outcome.DIRECT_SUCCESS:
        return Case.DIRECT_SUCCESS
    if outcome is Outcome.INDIRECT_SUCCESS:
        imperfect_agent, imperfect_rules = Case.INDIRECT_IMPERFECT_AGENT, Case.INDIRECT_IMPERFECT_RULES
    else:
        imperfect_agent, imperfect_rules = Case.FAILURE_IMPERFECT_AGENT, Case.FAILURE_IMPERFECT_RULES
    return imperfect_agent if blame is Blame.IMPERFECT_AGENT else imperfect_rules


_MARKUP = " \t*_#>`-=|~.:"
_VERDICT = re.compile(r"(?:the\s+|my\s+)?(?:final\s+)?verdict(?![a-z])[\s*_:=`–—-]*(.*)", re.IGNORECASE)
_BLAME = re.compile(r"\bimperfect[\s*_-]+(rules?|agents?)\b", re.IGNORECASE)
_NEGATION = re.compile(r"\b(?:not|no|neither|nor|never)\b|n't\b|n’t\b", re.IGNORECASE)
_REQUEST = f'end with one line that reads "Verdict: {Blame.IMPERFECT_RULES}" or "Verdict: {Blame.IMPERFECT_AGENT}"'


def read_blame(text: str) -> Blame:
    """Return the verdict at the end of the Builder's analysis.

    Raises ValueError if there is no clear verdict. The error's message is for the model.
    """
    verdict = _verdict(text)
    if verdict is None:
        raise ValueError(f"there is no verdict: {_REQUEST}")
    matches = list(_BLAME.finditer(verdict))
    blamed = {match[1].lower().rstrip("s") for match in matches}
    if len(blamed) > 1:
        raise ValueError(f"the verdict names both: {_REQUEST}")
    if not matches or _NEGATION.search(verdict[: matches[0].start()]):
        raise ValueError(f"the verdict {verdict!r} does not clearly name one of the two: {_REQUEST}")
    return Blame.IMPERFECT_RULES if blamed == {"rule"} else Blame.IMPERFECT_AGENT


def _verdict(text: str) -> str | None:
    """Return the text after the last "Verdict:", or the next line if nothing follows on the same line.

    If no line begins with "Verdict:", return the last line if it is a verdict and nothing else, or else None.
    """
    lines = [line for line in (line.strip(_MARKUP) for line in text.splitlines()) if line]
    for number, line in reversed(list(enumerate(lines))):
        if match := _VERDICT.match(line):
            return match[1].strip(_MARKUP) or "".join(lines[number + 1 : number + 2])
    return lines[-1] if lines and _BLAME.fullmatch(lines[-1]) else None


class RuleForm(LearnedRecord):
    """The attributes that rules may have. Some of the paper's ablations set a field to False."""

    types: bool = True
    examples: bool = True
    logs: bool = True
    helper_methods: bool = True
    checks: bool = Field(default=False, exclude_if=lambda checks: not checks)
    """True if the Builder may add a check to a rule: code that decides whether an episode obeyed the rule."""

    @property
    def allowed_types(self) -> frozenset[RuleType]:
        """The rule types that this form allows."""
        excluded = frozenset() if self.helper_methods else frozenset({RuleType.USEFUL_HELPER_METHOD})
        return frozenset(RuleType) - excluded

    def apply_to(self, rules: Iterable[Rule]) -> tuple[Rule, ...]:
        """Return the rules without the attributes that this form excludes. Checks are kept.

        If the form has no helper methods, rules of that type are removed.
        """
        allowed = [rule for rule in rules if rule.type is None or rule.type in self.allowed_types]
        ids = {rule.id for rule in allowed}
        return tuple(
            rule.model_copy(
                update={
                    "type": rule.type if self.types else None,
                    "example": rule.example if self.examples else "",
                    "log": rule.log if self.logs else (),
                    "builds_on": tuple(id for id in rule.builds_on if id in ids),
                }
            )
            for rule in allowed
        )


class Permissions(LearnedRecord):
    """The edits that are allowed: for each kind of edit, the types of rules for which it is allowed.

    Adding an entry to a rule's validation log is always allowed.
    """

    situation: str
    """The occasion for these edits, such as "After a direct success". Messages that refuse an edit begin with it."""
    writes: frozenset[RuleType] = frozenset()
    updates: frozenset[RuleType] = frozenset()
    deletes: frozenset[RuleType] = frozenset()
    changes_to: frozenset[RuleType] = frozenset()
    """If an update changes the type of a rule, the new type must be one of these."""
    changes_from: frozenset[RuleType] = frozenset()
    """If an update changes the type of a rule, the old type must be one of these."""
    form: RuleForm = RuleForm()

    def restricted_to(self, form: RuleForm) -> "Permissions":
        """Return the permissions for rules of this form: no edit may give a rule a type that the form excludes."""
        writes, changes_to = self.writes & form.allowed_types, self.changes_to & form.allowed_types
        return self.model_copy(update={"form": form, "writes": writes, "changes_to": changes_to})


def is_allowed(type: RuleType | None, allowed: frozenset[RuleType]) -> bool:
    """Return True if an edit that is allowed for rules of the ``allowed`` types is allowed for a rule of this type.

    For a rule without a type, the edit must be allowed for at least one type.
    """
    return bool(allowed) if type is None else type in allowed


ALL_TYPES = frozenset(RuleType)
FINDING_TYPES = frozenset({RuleType.SPECIAL_PHENOMENON, RuleType.SPECIAL_MECHANISM})
"""The types of rules that record how the environment works."""


def _builder_permissions(
    situation: str,
    writes: frozenset[RuleType],
    updates: frozenset[RuleType] = ALL_TYPES,
    changes_to: frozenset[RuleType] | None = None,
) -> Permissions:
    """Return permissions for the Builder, which may write and update rules of the given types.

    An update may change a rule's type to one of ``changes_to`` (by default ``writes``), but not from one of
    ``HOW_TO_TYPES``.
    """
    return Permissions(
        situation=situation,
        writes=writes,
        updates=updates,
        changes_to=writes if changes_to is None else changes_to,
        changes_from=updates - HOW_TO_TYPES,
    )


BUILDER_PERMISSIONS: Mapping[Case, Permissions] = {
    Case.DIRECT_SUCCESS: _builder_permissions("After a direct success", HOW_TO_TYPES | FINDING_TYPES),
    Case.INDIRECT_IMPERFECT_RULES: _builder_permissions(
        "After an indirect success with imperfect rules", HOW_TO_TYPES | FINDING_TYPES | {RuleType.CORRECTED_ERROR}
    ),
    Case.INDIRECT_IMPERFECT_AGENT: _builder_permissions(
        "After an indirect success with an imperfect agent",
        FINDING_TYPES,
        changes_to=FINDING_TYPES | {RuleType.CORRECTED_ERROR},
    ),
    Case.FAILURE_IMPERFECT_RULES: _builder_permissions(
        "After a failure with imperfect rules",
        FINDING_TYPES | {RuleType.UNRESOLVED_ERROR},
        ALL_TYPES - {RuleType.SUCCESS_PROCESS},
    ),
    Case.FAILURE_IMPERFECT_AGENT: _builder_permissions("After a failure with an imperfect agent", FINDING_TYPES),
}
"""Maps the case of an episode to the edits that the Builder may make after it."""
BUILDER_PERMISSIONS_WITHOUT_CASES = _builder_permissions("When rules are built", ALL_TYPES)
"""The edits that the Builder may make in the ablation without cases."""
CONSOLIDATOR_PERMISSIONS = Permissions(
    situation="When rules are consolidated",
    updates=ALL_TYPES,
    deletes=ALL_TYPES - HOW_TO_TYPES,
    changes_to=ALL_TYPES - HOW_TO_TYPES,
    changes_from=ALL_TYPES - HOW_TO_TYPES,
)
"""The edits that the Consolidator may make. Rules that say how tasks are done are never merged or deleted."""
