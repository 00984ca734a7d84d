"""The five cases, what each permits, and the verdict that decides between them."""

import pytest

from planbook.planner import Outcome
from planbook.rules import Blame, Rule, RuleBook, RuleType
from planbook.rules.cases import BUILDER, BUILDER_WITHOUT_CASES, CONSOLIDATOR, Case, Permissions, case_of, read_blame
from planbook.rules.edits import DeleteRule, Edit, UpdateRule, WriteRule
from planbook.rules.errors import BatchRefused
from tests.rules.given import BOOK, changed

ONE_OF_EACH = RuleBook.of(
    Rule(id=f"rule_{number}", type=type, content=f"About {type}.") for number, type in enumerate(RuleType)
)
IDS = {type: f"rule_{number}" for number, type in enumerate(RuleType)}
WRITTEN = {
    Case.DIRECT_SUCCESS: "SP UH Ph Me",
    Case.INDIRECT_IMPERFECT_RULES: "SP UH Ph Me CE",
    Case.INDIRECT_IMPERFECT_AGENT: "Ph Me CE",
    Case.FAILURE_IMPERFECT_RULES: "Ph Me UE",
    Case.FAILURE_IMPERFECT_AGENT: "Ph Me",
}
SHORT = {
    "SP": RuleType.SUCCESS_PROCESS,
    "UH": RuleType.USEFUL_HELPER_METHOD,
    "Ph": RuleType.SPECIAL_PHENOMENON,
    "Me": RuleType.SPECIAL_MECHANISM,
    "CE": RuleType.CORRECTED_ERROR,
    "UE": RuleType.UNRESOLVED_ERROR,
}


def allowed(permissions: Permissions, *edits: Edit, book: RuleBook = ONE_OF_EACH) -> bool:
    try:
        changed(book, *edits, permissions=permissions)
    except BatchRefused:
        return False
    return True


@pytest.mark.parametrize("case", Case)
def test_what_each_case_may_write(case: Case) -> None:
    written = {type for type in RuleType if allowed(BUILDER[case], WriteRule(content="New.", type=type))}
    assert written == {SHORT[name] for name in WRITTEN[case].split()}


@pytest.mark.parametrize("case", Case)
def test_what_each_case_may_update(case: Case) -> None:
    updated = {type for type in RuleType if allowed(BUILDER[case], UpdateRule(id=IDS[type], example="x = 1"))}
    kept = {RuleType.SUCCESS_PROCESS} if case is Case.FAILURE_IMPERFECT_RULES else set()
    assert updated == set(RuleType) - kept
    logged = {type for type in RuleType if allowed(BUILDER[case], UpdateRule(id=IDS[type], log="seen in task/1"))}
    assert logged == set(RuleType)


@pytest.mark.parametrize("case", Case)
def test_a_type_given_by_an_update_counts_as_written(case: Case) -> None:
    """No way round to a success rule from a failure: the papers' guard against it never fired."""
    change = UpdateRule(id=IDS[RuleType.UNRESOLVED_ERROR])
    become = {type for type in RuleType if allowed(BUILDER[case], change.model_copy(update={"type": type}))}
    kept = {RuleType.UNRESOLVED_ERROR}
    assert become - kept == {SHORT[name] for name in WRITTEN[case].split()} - kept


@pytest.mark.parametrize("case", [Case.FAILURE_IMPERFECT_RULES, Case.FAILURE_IMPERFECT_AGENT])
@pytest.mark.parametrize("type", [RuleType.SUCCESS_PROCESS, RuleType.USEFUL_HELPER_METHOD])
def test_no_success_rule_comes_from_a_failure(case: Case, type: RuleType) -> None:
    with pytest.raises(BatchRefused, match="must not be written") as refused:
        changed(BOOK, WriteRule(content="How it is done.", type=type), permissions=BUILDER[case])
    assert "After a failure" in str(refused.value)
    assert not allowed(
        BUILDER[case], WriteRule(content="x", type="Unresolved Error"), UpdateRule(id="rule_6", type=type)
    )


def test_a_type_that_stays_is_no_change_of_type() -> None:
    update = UpdateRule(id=IDS[RuleType.SUCCESS_PROCESS], type="success process", example="x = 1")
    assert all(allowed(permissions, update) for permissions in (BUILDER[Case.FAILURE_IMPERFECT_AGENT], CONSOLIDATOR))


@pytest.mark.parametrize("permissions", [*BUILDER.values(), BUILDER_WITHOUT_CASES])
def test_the_builder_deletes_nothing(permissions: Permissions) -> None:
    assert not any(allowed(permissions, DeleteRule(id=id)) for id in ONE_OF_EACH.ids)


def test_without_cases_the_builder_writes_and_updates_all() -> None:
    for type in RuleType:
        assert allowed(BUILDER_WITHOUT_CASES, WriteRule(content="New.", type=type))
        assert allowed(BUILDER_WITHOUT_CASES, UpdateRule(id=IDS[type], content="Other."))


def test_what_the_consolidator_may_do() -> None:
    kept = {RuleType.SUCCESS_PROCESS, RuleType.USEFUL_HELPER_METHOD}
    assert not any(allowed(CONSOLIDATOR, WriteRule(content="New.", type=type)) for type in RuleType)
    assert all(allowed(CONSOLIDATOR, UpdateRule(id=id, content="Other.")) for id in ONE_OF_EACH.ids)
    assert {type for type in RuleType if allowed(CONSOLIDATOR, DeleteRule(id=IDS[type]))} == set(RuleType) - kept
    for old in RuleType:
        for new in set(RuleType) - {old}:
            assert allowed(CONSOLIDATOR, UpdateRule(id=IDS[old], type=new)) is (old not in kept and new not in kept)


def test_the_consolidator_merges_an_error_into_the_process_that_answers_it() -> None:
    merged = UpdateRule(id="rule_2", content="To put a thing, find it with rule_1; never take from box_9.")
    assert changed(BOOK, merged, DeleteRule(id="rule_3"), permissions=CONSOLIDATOR).ids == (
        "rule_0",
        "rule_1",
        "rule_2",
    )
    with pytest.raises(BatchRefused, match="a Useful Helper Method rule must not be deleted, or merged into another"):
        changed(BOOK, merged, DeleteRule(id="rule_1"), permissions=CONSOLIDATOR)


def test_cases_follow_from_outcome_and_verdict() -> None:
    rules, agent = Blame.IMPERFECT_RULES, Blame.IMPERFECT_AGENT
    found = [
        case_of(Outcome.DIRECT_SUCCESS, rules),
        case_of(Outcome.INDIRECT_SUCCESS, rules),
        case_of(Outcome.INDIRECT_SUCCESS, agent),
        case_of(Outcome.FAILURE, rules),
        case_of(Outcome.OUT_OF_BUDGET, agent),
    ]
    assert found == list(Case)
    assert [case.number for case in found] == [1, 2, 3, 4, 5]


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
        "__Verdict__: BLAME",
        "Verdict: BLAME (no rule tells it, and the plan did not ask)",
        "I weighed both.\n\n*BLAME*",
    ],
)
def test_a_verdict_is_read_as_models_write_it(text: str, blame: Blame, other: Blame) -> None:
    said = text.replace("BLAMEs", f"{blame.removesuffix('s')}s").replace("BLAME", blame).replace("OTHER", other)
    assert [read_blame(said), read_blame(said.lower()), read_blame(said.upper())] == [blame] * 3


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "there is no verdict"),
        ("The rules are imperfect, I think.", "there is no verdict"),
        ("The fault lies in Imperfect Rules, or so it seems.", "there is no verdict"),
        ("Verdict: Imperfect Rules and Imperfect Agent", "names both"),
        ("Verdict: Imperfect Rules / Imperfect Agent", "names both"),
        ("Verdict: imperfect rules\nVerdict: unclear", "does not name one"),
        ("Verdict: not imperfect rules", "does not name one"),
        ("Verdict:", "does not name one"),
    ],
)
def test_a_verdict_that_is_absent_or_double_is_asked_for(text: str, why: str) -> None:
    with pytest.raises(ValueError, match=why) as refused:
        read_blame(text)
    assert 'reads "Verdict: Imperfect Rules" or "Verdict: Imperfect Agent"' in str(refused.value)
