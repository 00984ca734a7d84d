"""Case-conditioned rule management (AutoManual, section 3.3): which edits are allowed after which episode."""

import re
from collections.abc import Iterable, Mapping
from enum import StrEnum

from pydantic import Field

from planbook.planner import Outcome
from planbook.rules.types import Learned, Rule, RuleType


class Blame(StrEnum):
    """The Builder's verdict on an episode that had errors."""

    IMPERFECT_RULES = "Imperfect Rules"
    """The rules lacked what the agent needed."""
    IMPERFECT_AGENT = "Imperfect Agent"
    """The rules were right, and the agent did not follow them."""


class Case(StrEnum):
    """The five cases, in the paper's order."""

    DIRECT_SUCCESS = "direct success"
    INDIRECT_IMPERFECT_RULES = "indirect success, imperfect rules"
    INDIRECT_IMPERFECT_AGENT = "indirect success, imperfect agent"
    FAILURE_IMPERFECT_RULES = "failure, imperfect rules"
    FAILURE_IMPERFECT_AGENT = "failure, imperfect agent"

    @property
    def number(self) -> int:
        """The paper's number, from 1."""
        return list(Case).index(self) + 1


def case_of(outcome: Outcome, blame: Blame) -> Case:
    """Return the case of an episode that was played to its end; ``blame`` does not matter after a direct success."""
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
    """Return the verdict at the end of an analysis. Raises ValueError, which says what is missing."""
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
    """Return what follows the last "Verdict:", on its line or the next; else the last line if it is a bare verdict."""
    lines = [line for line in (line.strip(_MARKUP) for line in text.splitlines()) if line]
    for number, line in reversed(list(enumerate(lines))):
        if match := _VERDICT.match(line):
            return match[1].strip(_MARKUP) or "".join(lines[number + 1 : number + 2])
    return lines[-1] if lines and _BLAME.fullmatch(lines[-1]) else None


class Form(Learned):
    """The attributes that rules may have. The paper's ablations set some of them to False."""

    types: bool = True
    examples: bool = True
    logs: bool = True
    helper_methods: bool = True
    checks: bool = Field(default=False, exclude_if=lambda checks: not checks)
    """True if the Builder may give rules checks (``planbook.rules.obedience``)."""

    @property
    def offered(self) -> frozenset[RuleType]:
        """The rule types that this form allows."""
        without = frozenset() if self.helper_methods else frozenset({RuleType.USEFUL_HELPER_METHOD})
        return frozenset(RuleType) - without

    def fitted(self, rules: Iterable[Rule]) -> tuple[Rule, ...]:
        """Return the rules without the types, examples, logs and helper methods that this form lacks. Checks stay."""
        kept = [rule for rule in rules if rule.type is None or rule.type in self.offered]
        ids = {rule.id for rule in kept}
        return tuple(
            rule.model_copy(
                update={
                    "type": rule.type if self.types else None,
                    "example": rule.example if self.examples else "",
                    "log": rule.log if self.logs else (),
                    "builds_on": tuple(id for id in rule.builds_on if id in ids),
                }
            )
            for rule in kept
        )


class Permissions(Learned):
    """Edits that are allowed. Adding to a validation log is always allowed."""

    when: str
    """Beginning of a refusal's message, such as "After a direct success"."""
    writes: frozenset[RuleType] = frozenset()
    updates: frozenset[RuleType] = frozenset()
    deletes: frozenset[RuleType] = frozenset()
    changes_to: frozenset[RuleType] = frozenset()
    """Types that an update may give to a rule of another type."""
    changes_from: frozenset[RuleType] = frozenset()
    """Types that a rule may lose by an update."""
    form: Form = Form()

    def within(self, form: Form) -> "Permissions":
        """Return the permissions for rules of this form: no rule can be given a type that the form does not allow."""
        return self.model_copy(
            update={"form": form, "writes": self.writes & form.offered, "changes_to": self.changes_to & form.offered}
        )

    def may(self, allowed: frozenset[RuleType], type: RuleType | None) -> bool:
        """Return True if ``allowed``, one of the sets above, contains the type; for None, if it is not empty."""
        return bool(allowed) if type is None else type in allowed


ALL = frozenset(RuleType)
SUCCESS = frozenset({RuleType.SUCCESS_PROCESS, RuleType.USEFUL_HELPER_METHOD})
"""Types of rules that come from a success; such rules are never merged or deleted."""
FINDINGS = frozenset({RuleType.SPECIAL_PHENOMENON, RuleType.SPECIAL_MECHANISM})
CORRECTED = frozenset({RuleType.CORRECTED_ERROR})
UNRESOLVED = frozenset({RuleType.UNRESOLVED_ERROR})


def _builder(when: str, writes: frozenset[RuleType], updates: frozenset[RuleType] = ALL) -> Permissions:
    """Return the Builder's permissions.

    An update that changes the type counts as writing a rule of the new type; types in ``SUCCESS`` cannot be changed.
    """
    return Permissions(when=when, writes=writes, updates=updates, changes_to=writes, changes_from=updates - SUCCESS)


BUILDER: Mapping[Case, Permissions] = {
    Case.DIRECT_SUCCESS: _builder("After a direct success", SUCCESS | FINDINGS),
    Case.INDIRECT_IMPERFECT_RULES: _builder(
        "After an indirect success with imperfect rules", SUCCESS | FINDINGS | CORRECTED
    ),
    Case.INDIRECT_IMPERFECT_AGENT: _builder("After an indirect success with an imperfect agent", FINDINGS | CORRECTED),
    Case.FAILURE_IMPERFECT_RULES: _builder(
        "After a failure with imperfect rules", UNRESOLVED | FINDINGS, ALL - {RuleType.SUCCESS_PROCESS}
    ),
    Case.FAILURE_IMPERFECT_AGENT: _builder("After a failure with an imperfect agent", FINDINGS),
}
"""The edits that a Builder may make, by the case of the episode."""
BUILDER_WITHOUT_CASES = _builder("When rules are built", ALL)
"""The edits that a Builder may make in the ablation without cases."""
CONSOLIDATOR = Permissions(
    when="When rules are consolidated",
    updates=ALL,
    deletes=ALL - SUCCESS,
    changes_to=ALL - SUCCESS,
    changes_from=ALL - SUCCESS,
)
"""The edits that the Consolidator may make."""
