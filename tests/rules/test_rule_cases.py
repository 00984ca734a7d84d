"""The edits that each of the five cases permits, and the verdict that decides the case."""

from itertools import permutations

import pytest

from planbook.planner import Outcome
from planbook.rules import Blame, Rule, RuleBook, RuleType
from planbook.rules.edit_faults import BatchRefused
from planbook.rules.permissions import (
    BUILDER_PERMISSIONS,
    BUILDER_PERMISSIONS_WITHOUT_CASES,
    CONSOLIDATOR_PERMISSIONS,
    Case,
    Permissions,
    case_of,
    read_blame,
)
from tests.rules.example_book import Edit, changed, delete, update, write

PHENOMENON, MECHANISM, HELPER, PROCESS, CORRECTED, UNRESOLVED = RuleType
IDS = {type: f"rule_{number}" for number, type in enumerate(RuleType)}
ONE_OF_EACH = RuleBook.from_rules(Rule(id=id, type=type, content=f"About {type}.") for type, id in IDS.items())
WRITTEN = {
    Case.DIRECT_SUCCESS: {PROCESS, HELPER, PHENOMENON, MECHANISM},
    Case.INDIRECT_IMPERFECT_RULES: {PROCESS, HELPER, PHENOMENON, MECHANISM, CORRECTED},
    Case.INDIRECT_IMPERFECT_AGENT: {PHENOMENON, MECHANISM},
    Case.FAILURE_IMPERFECT_RULES: {PHENOMENON, MECHANISM, UNRESOLVED},
    Case.FAILURE_IMPERFECT_AGENT: {PHENOMENON, MECHANISM},
}


def allowed(permissions: Permissions, *edits: Edit, book: RuleBook = ONE_OF_EACH) -> bool:
    try:
        changed(book, *edits, permissions=permissions)
    except BatchRefused:
        return False
    return True


@pytest.mark.parametrize("case", Case)
def test_each_case_may_write_certain_types_of_rules(case: Case) -> None:
    """An update that changes the type of a rule needs the same permission as writing.

    There is one exception: an error that was corrected may always be marked as corrected after an indirect success.
    """
    written = {type for type in RuleType if allowed(BUILDER_PERMISSIONS[case], write("New.", type=type))}
    assert written == WRITTEN[case]
    types_after_update = {
        type for type in RuleType if allowed(BUILDER_PERMISSIONS[case], update(IDS[UNRESOLVED], type=type))
    }
    corrected = {CORRECTED} if case is Case.INDIRECT_IMPERFECT_AGENT else set()
    assert types_after_update - {UNRESOLVED} == WRITTEN[case] - {UNRESOLVED} | corrected


@pytest.mark.parametrize("case", Case)
def test_only_after_a_failure_of_the_rules_success_processes_may_not_be_updated(case: Case) -> None:
    updated = {type for type in RuleType if allowed(BUILDER_PERMISSIONS[case], update(IDS[type], example="x = 1"))}
    assert updated == set(RuleType) - ({PROCESS} if case is Case.FAILURE_IMPERFECT_RULES else set())
    assert all(allowed(BUILDER_PERMISSIONS[case], update(id, log="seen in task/1")) for id in ONE_OF_EACH.ids)


def test_an_update_that_repeats_the_type_of_a_rule_does_not_change_it() -> None:
    repeated = update(IDS[PROCESS], type="success process", example="x = 1")
    assert all(
        allowed(permissions, repeated)
        for permissions in (BUILDER_PERMISSIONS[Case.FAILURE_IMPERFECT_AGENT], CONSOLIDATOR_PERMISSIONS)
    )


@pytest.mark.parametrize("permissions", [*BUILDER_PERMISSIONS.values(), BUILDER_PERMISSIONS_WITHOUT_CASES])
def test_the_builder_deletes_nothing(permissions: Permissions) -> None:
    assert not any(allowed(permissions, delete(id)) for id in ONE_OF_EACH.ids)


def test_without_cases_the_builder_writes_and_updates_all() -> None:
    for type in RuleType:
        assert allowed(BUILDER_PERMISSIONS_WITHOUT_CASES, write("New.", type=type))
        assert allowed(BUILDER_PERMISSIONS_WITHOUT_CASES, update(IDS[type], content="Other."))


def test_the_consolidator_writes_no_rules_and_keeps_successes() -> None:
    kept = {PROCESS, HELPER}
    assert not any(allowed(CONSOLIDATOR_PERMISSIONS, write("New.", type=type)) for type in RuleType)
    assert all(allowed(CONSOLIDATOR_PERMISSIONS, update(id, content="Other.")) for id in ONE_OF_EACH.ids)
    assert {type for type in RuleType if allowed(CONSOLIDATOR_PERMISSIONS, delete(IDS[type]))} == set(RuleType) - kept
    for old, new in permutations(RuleType, 2):
        assert allowed(CONSOLIDATOR_PERMISSIONS, update(IDS[old], type=new)) is (old not in kept and new not in kept)


def test_the_case_follows_from_outcome_and_verdict() -> None:
    rules, agent = Blame
    cases = [
        case_of(Outcome.DIRECT_SUCCESS, rules),
        case_of(Outcome.INDIRECT_SUCCESS, rules),
        case_of(Outcome.INDIRECT_SUCCESS, agent),
        case_of(Outcome.FAILURE, rules),
        case_of(Outcome.OUT_OF_BUDGET, agent),
    ]
    assert cases == list(Case)
    assert [case.number for case in cases] == [1, 2, 3, 4, 5]


@pytest.mark.parametrize(("blame", "other"), [tuple(Blame), tuple(reversed(Blame))])
@pytest.mark.parametrize(
    "text",
    [
        "OTHER was my first thought.\nVerdict: BLAME",
        "**Verdict:** *BLAME*.",
        "### Verdict\n\n**BLAME**\n",
        "- Final verdict - BLAMEs",
        "Verdict: OTHER\nOn second thought.\nVERDICT: BLAME",
        "The final verdict is that the fault stems from *BLAME*: rule_2 lacks a step.",
        "Verdict: BLAME (no rule tells it, and the plan did not ask)",
        "I weighed both.\n\n*BLAME*",
    ],
)
def test_a_verdict_is_read_as_models_write_it(text: str, blame: Blame, other: Blame) -> None:
    reply = text.replace("BLAMEs", f"{blame.removesuffix('s')}s").replace("BLAME", blame).replace("OTHER", other)
    assert [read_blame(each) for each in (reply, reply.lower(), reply.upper())] == [blame] * 3


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "there is no verdict"),
        ("The rules are imperfect, I think.", "there is no verdict"),
        ("The fault lies in Imperfect Rules, or so it seems.", "there is no verdict"),
        ("Verdict: Imperfect Rules and Imperfect Agent", "names both"),
        ("Verdict: imperfect rules\nVerdict: unclear", "does not clearly name one"),
        ("Verdict: not imperfect rules", "does not clearly name one"),
        ("Verdict:", "does not clearly name one"),
    ],
)
def test_a_missing_or_double_verdict_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message) as refused:
        read_blame(text)
    assert 'reads "Verdict: Imperfect Rules" or "Verdict: Imperfect Agent"' in str(refused.value)
