"""The rule book, and batches of edits, each of which is applied completely or not at all."""

import pytest

from planbook.rules import Rule, RuleBook, RuleForm, RulesError, RuleType, citations, read_type, rule_text
from planbook.rules.book import BadHistory, Batch, RuleChange
from planbook.rules.edit_faults import MAX_CHARACTERS, BatchRefused
from planbook.rules.permissions import BUILDER_PERMISSIONS, CONSOLIDATOR_PERMISSIONS, Case, Permissions
from planbook.rules.rule_system import RuleSystem
from tests.rules.example_book import (
    BATCH,
    BOOK,
    HELPER,
    MECHANISM,
    SUCCESS,
    UNRESOLVED,
    USER,
    Edit,
    apply,
    changed,
    delete,
    note,
    update,
    write,
)


def refusal(*edits: Edit, book: RuleBook = BOOK, permissions: Permissions = USER) -> list[str]:
    with pytest.raises(BatchRefused) as refused:
        apply(book, *edits, permissions=permissions)
    return list(map(str, refused.value.faults))


def test_a_book_keeps_its_rules_in_the_order_of_their_numbers() -> None:
    book = RuleBook.from_rules((UNRESOLVED, Rule(id="rule_10", type=None, content="x"), MECHANISM))
    assert book.ids == ("rule_0", "rule_3", "rule_10")
    assert book.next_number == 11
    assert RuleBook.from_rules(()).next_number == 0
    with pytest.raises(ValueError, match="several rules have the same id: rule_0"):
        RuleBook.from_rules((MECHANISM, MECHANISM))


def test_an_unknown_rule_is_an_error_that_lists_the_rules() -> None:
    with pytest.raises(RulesError, match="there is no rule_9; the rules are rule_0, rule_1, rule_2, rule_3"):
        BOOK.rule("rule_9")
    with pytest.raises(RulesError, match="rule_3 was deleted"):
        changed(BOOK, delete("rule_3")).rule("rule_3")
    assert BOOK.rule("rule_1") == HELPER


def test_citations_are_read_from_content_example_and_builds_on() -> None:
    assert citations("rule_1, Rule_2; rule_1 myrule_3 rule_4b rule_05 (rule_12).") == ("rule_1", "rule_2", "rule_12")
    citing = Rule(id="rule_4", type=None, content="as rule_0", example="# rule_3", log=("from rule_1",))
    book = RuleBook.from_rules((*BOOK.active, citing, Rule(id="rule_30", type=None, content="see rule_30 itself")))
    cited_by = {id: book.cited_by(id) for id in ("rule_0", "rule_1", "rule_3", "rule_30")}
    assert cited_by == {"rule_0": ("rule_4",), "rule_1": ("rule_2",), "rule_3": ("rule_4",), "rule_30": ()}


def test_a_change_has_each_rule_before_and_after() -> None:
    edits = (
        write(" New. ", type="corrected error", example="\n  x = 1\n\n", log="from task/1"),
        update("rule_0", log="held again"),
        delete("rule_3"),
    )
    change = apply(BOOK, *edits)
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
    updated = changed(BOOK, update("rule_2", example="put('key')", builds_on=[], log=" Held in task/4. "))
    rule = updated.rule("rule_2")
    assert rule.log == ("Given by the user.", "Held in task/4.")
    assert (rule.content, rule.type, rule.example, rule.builds_on) == (SUCCESS.content, SUCCESS.type, "put('key')", ())


def test_a_change_fits_only_the_book_it_was_made_for() -> None:
    reworded = apply(BOOK, update("rule_0", content="Other."))
    with pytest.raises(BadHistory, match="rule_0 differs from"):
        reworded.apply_to(reworded.apply_to(BOOK))
    later = changed(BOOK, note("Since then."))
    assert reworded.apply_to(later).next_number == 5
    late = apply(BOOK, note("Late."))
    with pytest.raises(BadHistory, match="already assigned before this change: rule_4"):
        late.apply_to(changed(later, delete("rule_4")))


def test_ids_are_not_reused_and_prose_is_not_renumbered() -> None:
    """The papers' code renumbered rules, and also changed their ids inside prose."""
    book = changed(BOOK, delete("rule_3"))
    book = changed(book, note("After the deletion."))
    assert book.ids == ("rule_0", "rule_1", "rule_2", "rule_4")
    assert book.rule("rule_2") == SUCCESS
    emptied = changed(RuleBook.from_rules((UNRESOLVED,)), delete("rule_3"))
    assert changed(emptied, note("First again?")).ids == ("rule_4",)


def test_a_bad_edit_refuses_the_batch_and_every_fault_is_reported() -> None:
    """The papers' code applied the calls that came before the bad one."""
    faults = refusal(
        note("A sound rule."),
        update("rule_9", content="x"),
        write("  ", type="Success Story"),
        update("rule_0"),
        delete("rule_3"),
        delete("rule_3"),
        update("rule_3", content="Too late."),
        note("Said rarely.", builds_on=["rule_77"]),
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
            [update("rule_3", content="Known now."), delete("rule_3")],
            "edit 2, delete_rule rule_3: edit 1 in this batch changes rule_3: either update it or delete it",
        ),
        ([update("rule_0", content=f" {MECHANISM.content}\n")], "changes nothing"),
        ([note(SAME)], "its content is the same as that of rule_0: update rule_0 instead"),
        ([update("rule_3", content=SAME)], "its content is the same as that of rule_0"),
        (
            [update("rule_0", content=UNRESOLVED.content), update("rule_3", log="seen again")],
            "edit 1, update_rule rule_0: its content is the same as that of rule_3",
        ),
        ([note("Twice."), note("twice.")], "edit 2, write_rule: its content is the same as that of rule_4"),
        ([note("See rule_8.")], "the text names rule_8, but there is no rule_8"),
        ([update("rule_0", builds_on=["rule_0"])], "cannot build on itself"),
        ([write("Typeless.")], "a rule needs a type"),
    ],
)
def test_a_batch_with_one_fault_is_refused(edits: list[Edit], fault: str) -> None:
    (message,) = refusal(*edits)
    assert fault in message


def test_calls_keep_their_numbers_and_edits_of_omitted_rules_are_omitted() -> None:
    permissions, batch = BUILDER_PERMISSIONS[Case.FAILURE_IMPERFECT_AGENT], Batch(who="builder", where="task/17")
    omitted = (note("Do it so.", RuleType.SUCCESS_PROCESS), update("rule_4", log="task/1"))
    assert apply(BOOK, *omitted, permissions=permissions, batch=batch).touched == ()
    system = RuleSystem(BOOK, permissions, batch, try_check=lambda check: "its check fails")
    edits = (*omitted, note("Do it thus.", RuleType.SUCCESS_PROCESS), note("x", check="y"), update("rule_9", log="x"))
    assert [edit.apply_to(system) for edit in edits] == ["rule_4", "rule_4", "rule_5", "", ""]
    assert [fault.number for fault in (*system.left_out, *system.faults)] == [1, 3, 4, 5]


def test_the_valid_part_names_no_refused_rule() -> None:
    system = RuleSystem(BOOK, USER, BATCH)
    assert [edit.apply_to(system) for edit in (note(" "), note("See rule_4."))] == ["", "rule_5"]
    assert system.valid_part() is None


def test_an_edit_of_a_rule_deleted_earlier_is_refused() -> None:
    book = changed(BOOK, delete("rule_3"))
    for edit in (update("rule_3", content="x"), delete("rule_3")):
        assert "rule_3 was deleted" in refusal(edit, book=book)[0]


@pytest.mark.parametrize(("attribute", "limit"), MAX_CHARACTERS.items())
def test_texts_have_a_maximum_length(attribute: str, limit: int) -> None:
    permissions = USER.restricted_to(RuleForm(checks=True))
    too_long, longest = (update("rule_0", **{attribute: "x" * n}) for n in (limit + 1, limit))
    assert f"has {limit + 1} characters; at most {limit}" in refusal(too_long, permissions=permissions)[0]
    assert changed(BOOK, longest, permissions=permissions) != BOOK


def test_a_rule_may_get_the_content_of_one_that_the_batch_deletes() -> None:
    book = changed(BOOK, update("rule_0", content=UNRESOLVED.content), delete("rule_3"))
    assert book.ids == ("rule_0", "rule_1", "rule_2")


def test_a_rule_that_is_still_cited_is_not_deleted() -> None:
    assert refusal(delete("rule_1")) == [
        "edit 1, delete_rule rule_1: rule_2 would still name rule_1: update it in the same batch so that rule_1 is "
        "no longer named (content, example, builds_on), or keep rule_1"
    ]
    assert len(refusal(delete("rule_1"), permissions=CONSOLIDATOR_PERMISSIONS)) == 1
    words = {"content": "To put a thing on the table, search for it."}
    reworded = update("rule_2", **words)
    assert "rule_2 would still name rule_1" in refusal(reworded, delete("rule_1"))[0]
    complete = update("rule_2", **words, builds_on=["rule_0"])
    for edits in ((complete, delete("rule_1")), (delete("rule_1"), complete)):
        assert changed(BOOK, *edits).ids == ("rule_0", "rule_2", "rule_3")


def test_a_rule_written_in_a_batch_may_be_cited_and_updated_by_it() -> None:
    first, second = note("The first."), note("Follows from rule_4.", builds_on=["rule_4"])
    book = changed(BOOK, first, second, update("rule_4", log="and rule_5 follows"))
    assert book.rule("rule_5").builds_on == ("rule_4",)
    assert book.rule("rule_4").log == ("and rule_5 follows",)


def test_a_citation_of_an_unknown_rule_may_stay() -> None:
    book = RuleBook.from_rules(
        (*BOOK.active, Rule(id="rule_9", type=RuleType.CORRECTED_ERROR, content="As in rule_77."))
    )
    assert changed(book, update("rule_9", content="Just as in rule_77.")).rule("rule_9")


def test_edits_that_name_a_refused_rule_are_not_reported() -> None:
    edits = (note(" "), update("rule_4", log="x"), delete("rule_4"), note("See rule_4."))
    built = note("On it.", builds_on=["rule_4"])
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
    faults = refusal(write("x", type="Corrected Error", example="y", log="z"), permissions=minimal)
    assert [fault.split("here: ")[1] for fault in faults] == ["leave type out", "leave example out", "leave log out"]
    assert changed(BOOK, write("Typeless."), permissions=minimal).rule("rule_4").type is None
    no_helpers = USER.restricted_to(RuleForm(helper_methods=False))
    (fault,) = refusal(note("A helper.", RuleType.USEFUL_HELPER_METHOD), permissions=no_helpers)
    assert "no type 'Useful Helper Method'" in fault
    assert "Useful Helper Method" not in fault.split("the types are")[1]


def test_rules_are_reduced_to_the_attributes_of_a_form() -> None:
    reduced = RuleForm(types=False, logs=False, helper_methods=False).apply_to(BOOK.active)
    assert [rule.id for rule in reduced] == ["rule_0", "rule_2", "rule_3"]
    assert reduced[1] == SUCCESS.model_copy(update={"type": None, "log": (), "builds_on": ()})
    assert RuleForm().apply_to(BOOK.active) == BOOK.active
    assert {rule.example for rule in RuleForm(examples=False).apply_to(BOOK.active)} == {""}


def test_the_consolidator_deletes_rules_without_types() -> None:
    untyped = RuleBook.from_rules(RuleForm(types=False).apply_to(BOOK.active))
    permissions = CONSOLIDATOR_PERMISSIONS.restricted_to(RuleForm(types=False))
    assert changed(untyped, delete("rule_3"), permissions=permissions).ids == ("rule_0", "rule_1", "rule_2")
    assert "must not be written" in refusal(write("New."), book=untyped, permissions=permissions)[0]


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
