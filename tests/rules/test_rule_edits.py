"""The rule book, and batches of edits, each of which is applied completely or not at all."""

import pytest

from planbook.rules import Rule, RuleBook, RuleForm, RulesError, RuleType, citations, read_type, rule_text
from planbook.rules.book import BadHistory, DeleteRule, Edit, RuleChange, UpdateRule, WriteRule
from planbook.rules.edit_batch import MAX_CHARACTERS, BatchRefused, Draft
from planbook.rules.permissions import BUILDER, CONSOLIDATOR, Case, Permissions
from tests.rules.example_book import BOOK, HELPER, MECHANISM, SUCCESS, UNRESOLVED, USER, apply, batch, changed, note


def refusal(*edits: Edit, book: RuleBook = BOOK, permissions: Permissions = USER) -> list[str]:
    with pytest.raises(BatchRefused) as refused:
        apply(book, batch(*edits), permissions)
    return list(map(str, refused.value.faults))


def test_a_book_keeps_its_rules_in_the_order_of_their_numbers() -> None:
    book = RuleBook.from_rules((UNRESOLVED, Rule(id="rule_10", type=None, content="x"), MECHANISM))
    assert book.ids == ("rule_0", "rule_3", "rule_10")
    assert book.next_number == 11
    assert RuleBook.from_rules(()).next_number == 0
    with pytest.raises(ValueError, match="several rules have the same id: rule_0"):
        RuleBook.from_rules((MECHANISM, MECHANISM))


@pytest.mark.parametrize("id", ["rule_01", "Rule_1", "1", "rule_", "rule_1 "])
def test_a_book_refuses_malformed_ids(id: str) -> None:
    with pytest.raises(ValueError, match="not a rule id"):
        RuleBook.from_rules((Rule(id=id, type=None, content="x"),))


def test_an_unknown_rule_is_an_error_that_lists_the_rules() -> None:
    with pytest.raises(RulesError, match="there is no rule_9; the rules are rule_0, rule_1, rule_2, rule_3"):
        BOOK.rule("rule_9")
    with pytest.raises(RulesError, match="rule_3 was deleted"):
        changed(BOOK, DeleteRule(id="rule_3")).rule("rule_3")
    assert BOOK.rule("rule_1") == HELPER


def test_citations_are_read_from_content_example_and_builds_on() -> None:
    assert citations("rule_1, Rule_2; rule_1 myrule_3 rule_4b rule_05 (rule_12).") == ("rule_1", "rule_2", "rule_12")
    citing = Rule(id="rule_4", type=None, content="as rule_0", example="# rule_3", log=("from rule_1",))
    book = RuleBook.from_rules((*BOOK.active, citing, Rule(id="rule_30", type=None, content="see rule_30 itself")))
    cited_by = {id: book.cited_by(id) for id in ("rule_0", "rule_1", "rule_3", "rule_30")}
    assert cited_by == {"rule_0": ("rule_4",), "rule_1": ("rule_2",), "rule_3": ("rule_4",), "rule_30": ()}


def test_a_change_has_each_rule_before_and_after() -> None:
    edits = (
        WriteRule(content=" New. ", type="corrected error", example="\n  x = 1\n\n", log="from task/1"),
        UpdateRule(id="rule_0", log="held again"),
        DeleteRule(id="rule_3"),
    )
    change = apply(BOOK, batch(*edits), USER)
    written = Rule(id="rule_4", type=RuleType.CORRECTED_ERROR, content="New.", example="  x = 1", log=("from task/1",))
    assert change.assigned == ("rule_4",)
    assert [(t.before, t.after) for t in change.touched] == [
        (MECHANISM, MECHANISM.model_copy(update={"log": ("held again",)})),
        (UNRESOLVED, None),
        (None, written),
    ]
    book = change.apply_to(BOOK)
    assert book.ids == ("rule_0", "rule_1", "rule_2", "rule_4")
    assert BOOK.ids == ("rule_0", "rule_1", "rule_2", "rule_3")
    assert RuleChange.model_validate_json(change.model_dump_json()) == change


def test_an_update_changes_the_given_attributes_and_appends_to_the_log() -> None:
    updated = changed(BOOK, UpdateRule(id="rule_2", example="put('key')", builds_on=(), log=" Held in task/4. "))
    rule = updated.rule("rule_2")
    assert rule.log == ("Given by the user.", "Held in task/4.")
    assert (rule.content, rule.type, rule.example, rule.builds_on) == (SUCCESS.content, SUCCESS.type, "put('key')", ())


def test_a_change_fits_only_the_book_it_was_made_for() -> None:
    update = apply(BOOK, batch(UpdateRule(id="rule_0", content="Other.")), USER)
    with pytest.raises(BadHistory, match="rule_0 differs from"):
        update.apply_to(update.apply_to(BOOK))
    later = changed(BOOK, note("Since then."))
    assert update.apply_to(later).next_number == 5
    write = apply(BOOK, batch(note("Late.")), USER)
    with pytest.raises(BadHistory, match="already assigned before this change: rule_4"):
        write.apply_to(changed(later, DeleteRule(id="rule_4")))


def test_ids_are_not_reused_and_prose_is_not_renumbered() -> None:
    """The papers' code renumbered rules, and also changed their ids inside prose."""
    book = changed(BOOK, DeleteRule(id="rule_3"))
    book = changed(book, note("After the deletion."))
    assert book.ids == ("rule_0", "rule_1", "rule_2", "rule_4")
    assert book.rule("rule_2") == SUCCESS
    emptied = changed(RuleBook.from_rules((UNRESOLVED,)), DeleteRule(id="rule_3"))
    assert changed(emptied, note("First again?")).ids == ("rule_4",)


def test_a_bad_edit_refuses_the_batch_and_every_fault_is_reported() -> None:
    """The papers' code applied the calls that came before the bad one."""
    faults = refusal(
        note("A sound rule."),
        UpdateRule(id="rule_9", content="x"),
        WriteRule(content="  ", type="Success Story"),
        UpdateRule(id="rule_0"),
        DeleteRule(id="rule_3"),
        DeleteRule(id="rule_3"),
        UpdateRule(id="rule_3", content="Too late."),
        note("Said rarely.").model_copy(update={"builds_on": ("rule_77",)}),
    )
    expected = [
        ("edit 2, update_rule rule_9", "there is no rule_9"),
        ("edit 3, write_rule", "content is empty"),
        ("edit 3, write_rule", "no type 'Success Story'"),
        ("edit 4, update_rule rule_0", "no attributes were given"),
        ("edit 6, delete_rule rule_3", "already deletes rule_3: delete it only once"),
        ("edit 7, update_rule rule_3", "edit 5 in this batch deletes rule_3: either update it or delete it"),
        ("edit 8, write_rule", "builds_on: there is no rule_77"),
    ]
    for fault, (edit, message) in zip(faults, expected, strict=True):
        assert fault.startswith(f"{edit}: ")
        assert message in fault


SAME = MECHANISM.content.upper().replace(" ", "  \n")
"""The content of rule_0 in capital letters and with other spaces."""


@pytest.mark.parametrize(
    ("edits", "fault"),
    [
        (
            [UpdateRule(id="rule_3", content="Known now."), DeleteRule(id="rule_3")],
            "edit 2, delete_rule rule_3: edit 1 in this batch changes rule_3: either update it or delete it",
        ),
        ([UpdateRule(id="rule_0", content=f" {MECHANISM.content}\n")], "changes nothing"),
        ([note(SAME)], "its content is the same as that of rule_0: update rule_0 instead"),
        ([UpdateRule(id="rule_3", content=SAME)], "its content is the same as that of rule_0"),
        (
            [UpdateRule(id="rule_0", content=UNRESOLVED.content), UpdateRule(id="rule_3", log="seen again")],
            "edit 1, update_rule rule_0: its content is the same as that of rule_3",
        ),
        ([note("Twice."), note("twice.")], "edit 2, write_rule: its content is the same as that of rule_4"),
        ([note("See rule_8.")], "the text names rule_8, but there is no rule_8"),
        ([UpdateRule(id="rule_0", builds_on=("rule_0",))], "cannot build on itself"),
        ([WriteRule(content="Typeless.")], "a rule needs a type"),
    ],
)
def test_a_batch_with_one_fault_is_refused(edits: list[Edit], fault: str) -> None:
    (message,) = refusal(*edits)
    assert fault in message


def test_calls_keep_their_numbers_and_edits_of_omitted_rules_are_omitted() -> None:
    draft = Draft(BOOK, BUILDER[Case.FAILURE_IMPERFECT_AGENT], lenient=True)
    id, _ = draft.add(note("Do it so.", RuleType.SUCCESS_PROCESS))
    draft.add(UpdateRule(id=id, log="task/1"))
    draft.add(note("Do it thus.", RuleType.SUCCESS_PROCESS))
    draft.refuse("write_rule", "its check fails")
    draft.add(UpdateRule(id="rule_9", log="x"))
    assert [fault.number for fault in (*draft.left_out, *draft.faults)] == [1, 3, 4, 5]
    without_faults = Draft(BOOK, BUILDER[Case.FAILURE_IMPERFECT_AGENT], lenient=True)
    without_faults.add(note("Do it so.", RuleType.SUCCESS_PROCESS))
    without_faults.add(UpdateRule(id="rule_4", log="task/1"))
    assert without_faults.change(batch()).batch.edits == ()


def test_the_valid_part_names_no_refused_rule() -> None:
    draft = Draft(BOOK, USER)
    id, _ = draft.add(note(" "))
    draft.add(note(f"See {id}."))
    assert draft.valid_part(batch()) is None


def test_an_edit_of_a_rule_deleted_earlier_is_refused() -> None:
    book = changed(BOOK, DeleteRule(id="rule_3"))
    for edit in (UpdateRule(id="rule_3", content="x"), DeleteRule(id="rule_3")):
        assert "rule_3 was deleted" in refusal(edit, book=book)[0]


@pytest.mark.parametrize(("attribute", "limit"), MAX_CHARACTERS.items())
def test_texts_have_a_maximum_length(attribute: str, limit: int) -> None:
    permissions = USER.restricted_to(RuleForm(checks=True))
    too_long, longest = (UpdateRule.model_validate({"id": "rule_0", attribute: "x" * n}) for n in (limit + 1, limit))
    assert f"has {limit + 1} characters; at most {limit}" in refusal(too_long, permissions=permissions)[0]
    assert changed(BOOK, longest, permissions=permissions) != BOOK


def test_a_rule_may_get_the_content_of_one_that_the_batch_deletes() -> None:
    book = changed(BOOK, UpdateRule(id="rule_0", content=UNRESOLVED.content), DeleteRule(id="rule_3"))
    assert book.ids == ("rule_0", "rule_1", "rule_2")


def test_a_rule_that_is_still_cited_is_not_deleted() -> None:
    assert refusal(DeleteRule(id="rule_1")) == [
        "edit 1, delete_rule rule_1: rule_2 would still name rule_1: update it in the same batch so that rule_1 is "
        "no longer named (content, example, builds_on), or keep rule_1"
    ]
    assert len(refusal(DeleteRule(id="rule_1"), permissions=CONSOLIDATOR)) == 1
    reworded = UpdateRule(id="rule_2", content="To put a thing on the table, search for it.")
    assert "rule_2 would still name rule_1" in refusal(reworded, DeleteRule(id="rule_1"))[0]
    complete = reworded.model_copy(update={"builds_on": ("rule_0",)})
    for edits in ((complete, DeleteRule(id="rule_1")), (DeleteRule(id="rule_1"), complete)):
        assert changed(BOOK, *edits).ids == ("rule_0", "rule_2", "rule_3")


def test_a_rule_written_in_a_batch_may_be_cited_and_updated_by_it() -> None:
    first, second = note("The first."), note("Follows from rule_4.").model_copy(update={"builds_on": ("rule_4",)})
    book = changed(BOOK, first, second, UpdateRule(id="rule_4", log="and rule_5 follows"))
    assert book.rule("rule_5").builds_on == ("rule_4",)
    assert book.rule("rule_4").log == ("and rule_5 follows",)


def test_a_citation_of_an_unknown_rule_may_stay() -> None:
    book = RuleBook.from_rules(
        (*BOOK.active, Rule(id="rule_9", type=RuleType.CORRECTED_ERROR, content="As in rule_77."))
    )
    assert changed(book, UpdateRule(id="rule_9", content="Just as in rule_77.")).rule("rule_9")


def test_edits_that_name_a_refused_rule_are_not_reported() -> None:
    edits = (note(" "), UpdateRule(id="rule_4", log="x"), DeleteRule(id="rule_4"), note("See rule_4."))
    built = note("On it.").model_copy(update={"builds_on": ("rule_4",)})
    assert len(refusal(*edits, built)) == 1


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("success process", RuleType.SUCCESS_PROCESS),
        ("Unsolved Error", RuleType.UNRESOLVED_ERROR),
        ("UNRESOLVED_ERROR", RuleType.UNRESOLVED_ERROR),
        (" Special  Phenomena ", RuleType.SPECIAL_PHENOMENON),
        ("SpecialMechanism", RuleType.SPECIAL_MECHANISM),
        ("Helper Method", RuleType.USEFUL_HELPER_METHOD),
    ],
)
def test_types_are_read_as_people_write_them(text: str, type: RuleType) -> None:
    assert read_type(text, frozenset(RuleType)) is type


def test_an_unknown_or_double_type_is_refused() -> None:
    with pytest.raises(ValueError, match="choose Special Phenomenon for what is observed, Special Mechanism for how"):
        read_type("Special Phenomena/Mechanism", frozenset(RuleType))
    with pytest.raises(ValueError, match="the types are Special Phenomenon, Special Mechanism, Useful Helper"):
        read_type("Tip", frozenset(RuleType))


def test_attributes_that_the_form_lacks_are_refused() -> None:
    minimal = USER.restricted_to(RuleForm(types=False, examples=False, logs=False))
    faults = refusal(WriteRule(content="x", type="Corrected Error", example="y", log="z"), permissions=minimal)
    assert [fault.split("here: ")[1] for fault in faults] == ["leave type out", "leave example out", "leave log out"]
    assert changed(BOOK, WriteRule(content="Typeless."), permissions=minimal).rule("rule_4").type is None
    no_helpers = USER.restricted_to(RuleForm(helper_methods=False))
    (fault,) = refusal(note("A helper.", RuleType.USEFUL_HELPER_METHOD), permissions=no_helpers)
    assert "no type 'Useful Helper Method'" in fault
    assert "Useful Helper Method" not in fault.split("the types are")[1]


def test_rules_are_reduced_to_the_attributes_of_a_form() -> None:
    reduced = RuleForm(types=False, logs=False, helper_methods=False).reduced(BOOK.active)
    assert [rule.id for rule in reduced] == ["rule_0", "rule_2", "rule_3"]
    assert reduced[1] == SUCCESS.model_copy(update={"type": None, "log": (), "builds_on": ()})
    assert RuleForm().reduced(BOOK.active) == BOOK.active
    assert {rule.example for rule in RuleForm(examples=False).reduced(BOOK.active)} == {""}


def test_the_consolidator_deletes_rules_without_types() -> None:
    untyped = RuleBook.from_rules(RuleForm(types=False).reduced(BOOK.active))
    permissions = CONSOLIDATOR.restricted_to(RuleForm(types=False))
    assert changed(untyped, DeleteRule(id="rule_3"), permissions=permissions).ids == ("rule_0", "rule_1", "rule_2")
    assert "must not be written" in refusal(WriteRule(content="New."), book=untyped, permissions=permissions)[0]


def test_a_rule_is_printed_as_plain_lines() -> None:
    assert rule_text(SUCCESS).splitlines() == [
        "rule_2 (Success Process)",
        "  To put a thing on the table, find it with rule_1, take it, put it.",
        "  example:",
        "    # [Step 1] find",
        "    find('key')",
        "  builds on: rule_1",
        "  log: Given by the user.",
    ]
