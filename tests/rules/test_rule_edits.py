"""The book, edits of it, and the batches that are applied whole or not at all."""

import pytest

from planbook.rules import Form, Rule, RuleBook, RuleType, citations, read_type, rule_text
from planbook.rules.cases import CONSOLIDATOR, Permissions
from planbook.rules.draft import MAX_CHARACTERS
from planbook.rules.edits import DeleteRule, Edit, RuleChange, UpdateRule, WriteRule
from planbook.rules.errors import BadHistory, BatchRefused, UnknownRule
from tests.rules.given import BOOK, HELPER, MECHANISM, SUCCESS, UNRESOLVED, USER, apply, batch, changed, note


def refusal(*edits: Edit, book: RuleBook = BOOK, permissions: Permissions = USER) -> list[str]:
    with pytest.raises(BatchRefused) as refused:
        apply(book, batch(*edits), permissions)
    return list(map(str, refused.value.faults))


def test_a_book_keeps_its_rules_in_the_order_of_their_numbers() -> None:
    book = RuleBook.of((UNRESOLVED, Rule(id="rule_10", type=None, content="x"), MECHANISM))
    assert book.ids == ("rule_0", "rule_3", "rule_10")
    assert book.next_number == 11
    assert RuleBook.of(()).next_number == 0


@pytest.mark.parametrize("id", ["rule_01", "Rule_1", "1", "rule_", "rule_1 "])
def test_a_book_refuses_what_is_no_id(id: str) -> None:
    with pytest.raises(ValueError, match="no rule id"):
        RuleBook.of((Rule(id=id, type=None, content="x"),))


def test_a_book_refuses_an_id_given_twice() -> None:
    with pytest.raises(ValueError, match="two rules have the id rule_0"):
        RuleBook.of((MECHANISM, MECHANISM))


def test_a_rule_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(UnknownRule, match="there is no rule_9; the rules are rule_0, rule_1, rule_2, rule_3"):
        BOOK.rule("rule_9")
    with pytest.raises(UnknownRule, match="rule_3 was deleted"):
        changed(BOOK, DeleteRule(id="rule_3")).rule("rule_3")
    assert BOOK.rule("rule_1") == HELPER


def test_citations_are_whole_words_of_content_example_and_dependence_but_not_of_logs() -> None:
    assert citations("rule_1, Rule_2; rule_1 myrule_3 rule_4b rule_05 (rule_12).") == ("rule_1", "rule_2", "rule_12")
    citing = Rule(id="rule_4", type=None, content="as rule_0", example="# rule_3", log=("from rule_1",))
    book = RuleBook.of((*BOOK.active, citing, Rule(id="rule_30", type=None, content="see rule_30 itself")))
    assert book.cited_by("rule_0") == ("rule_4",)
    assert book.cited_by("rule_3") == ("rule_4",)
    assert book.cited_by("rule_1") == ("rule_2",)
    assert book.cited_by("rule_30") == ()


def test_what_is_written_updated_and_deleted_is_told_with_before_and_after() -> None:
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
    book = change.on(BOOK)
    assert book.ids == ("rule_0", "rule_1", "rule_2", "rule_4")
    assert BOOK.ids == ("rule_0", "rule_1", "rule_2", "rule_3")
    assert RuleChange.model_validate_json(change.model_dump_json()) == change


def test_an_update_changes_what_is_given_and_appends_to_the_log() -> None:
    updated = changed(BOOK, UpdateRule(id="rule_2", example="put('key')", builds_on=(), log=" Held in task/4. "))
    rule = updated.rule("rule_2")
    assert rule.log == ("Given by the user.", "Held in task/4.")
    assert (rule.content, rule.type, rule.example, rule.builds_on) == (SUCCESS.content, SUCCESS.type, "put('key')", ())


def test_a_change_fits_only_the_book_it_was_made_for() -> None:
    change = apply(BOOK, batch(UpdateRule(id="rule_0", content="Other.")), USER)
    with pytest.raises(BadHistory, match="rule_0 differs from"):
        change.on(change.on(BOOK))
    assert change.on(changed(BOOK, note("Since then."))).next_number == 5


def test_a_change_does_not_assign_an_id_that_was_assigned_since() -> None:
    change = apply(BOOK, batch(note("Late.")), USER)
    since = changed(changed(BOOK, note("Since then.")), DeleteRule(id="rule_4"))
    with pytest.raises(BadHistory, match="rule_4 was assigned before this change"):
        change.on(since)


def test_an_id_is_not_given_again_and_prose_is_left_alone() -> None:
    """The papers' code renumbered rules, and their ids inside prose with them."""
    book = changed(BOOK, DeleteRule(id="rule_3"))
    book = changed(book, note("After the deletion."))
    assert book.ids == ("rule_0", "rule_1", "rule_2", "rule_4")
    assert book.rule("rule_2") == SUCCESS
    emptied = changed(RuleBook.of((UNRESOLVED,)), DeleteRule(id="rule_3"))
    assert changed(emptied, note("First again?")).ids == ("rule_4",)


def test_one_bad_edit_leaves_everything_as_it_was_and_every_fault_is_told() -> None:
    """The papers' code applied the calls before the bad one."""
    told = refusal(
        note("A sound rule."),
        UpdateRule(id="rule_9", content="x"),
        WriteRule(content="  ", type="Success Story"),
        UpdateRule(id="rule_0"),
        DeleteRule(id="rule_3"),
        DeleteRule(id="rule_3"),
        UpdateRule(id="rule_3", content="Too late."),
        note("Said rarely.").model_copy(update={"builds_on": ("rule_77",)}),
    )
    assert [line.split(": ")[0] for line in told] == [
        "edit 2, update_rule rule_9",
        "edit 3, write_rule",
        "edit 3, write_rule",
        "edit 4, update_rule rule_0",
        "edit 6, delete_rule rule_3",
        "edit 7, update_rule rule_3",
        "edit 8, write_rule",
    ]
    for part in (
        "there is no rule_9",
        "content is empty",
        "no type 'Success Story'",
        "nothing is given",
        "delete it once",
    ):
        assert part in "\n".join(told)
    assert "edit 5 of this batch deletes rule_3: either update it or delete it" in told[5]
    assert "builds_on: there is no rule_77" in told[6]


def test_a_rule_updated_and_then_deleted_is_refused_too() -> None:
    told = refusal(UpdateRule(id="rule_3", content="Known now."), DeleteRule(id="rule_3"))
    assert told == ["edit 2, delete_rule rule_3: edit 1 of this batch changes rule_3: either update it or delete it"]


def test_a_rule_deleted_earlier_is_named_as_deleted() -> None:
    book = changed(BOOK, DeleteRule(id="rule_3"))
    assert "rule_3 was deleted" in refusal(UpdateRule(id="rule_3", content="x"), book=book)[0]
    assert "rule_3 was deleted" in refusal(DeleteRule(id="rule_3"), book=book)[0]


def test_an_update_that_gives_what_is_there_changes_nothing_and_is_refused() -> None:
    assert "changes nothing" in refusal(UpdateRule(id="rule_0", content=f" {MECHANISM.content}\n"))[0]


@pytest.mark.parametrize("attribute", sorted(MAX_CHARACTERS))
def test_texts_have_a_greatest_length(attribute: str) -> None:
    text = "x" * (MAX_CHARACTERS[attribute] + 1)
    all_of_them = USER.within(Form(checks=True))
    told = refusal(UpdateRule.model_validate({"id": "rule_0", attribute: text}), permissions=all_of_them)
    assert f"has {len(text)} characters; at most {MAX_CHARACTERS[attribute]}" in told[0]
    most = UpdateRule.model_validate({"id": "rule_0", attribute: text[1:]})
    assert apply(BOOK, batch(most), all_of_them).on(BOOK) != BOOK


def test_the_content_of_another_rule_is_refused_however_it_is_spaced() -> None:
    again = MECHANISM.content.upper().replace(" ", "  \n")
    assert "its content is that of rule_0: update rule_0 instead" in refusal(note(again))[0]
    assert "its content is that of rule_0" in refusal(UpdateRule(id="rule_3", content=again))[0]
    second = UpdateRule(id="rule_3", log="seen again")
    assert "edit 1, update_rule rule_0" in refusal(UpdateRule(id="rule_0", content=UNRESOLVED.content), second)[0]
    assert "edit 2, write_rule: its content is that of rule_4" in refusal(note("Twice."), note("twice."))[0]


def test_a_rule_may_take_over_the_content_of_one_that_the_batch_deletes() -> None:
    book = changed(BOOK, UpdateRule(id="rule_0", content=UNRESOLVED.content), DeleteRule(id="rule_3"))
    assert book.ids == ("rule_0", "rule_1", "rule_2")


def test_a_deletion_names_the_rules_that_cite_the_deleted_one() -> None:
    assert refusal(DeleteRule(id="rule_1")) == [
        "edit 1, delete_rule rule_1: rule_2 would still name rule_1: update it in the same batch so that rule_1 is "
        "named no more (content, example, builds_on), or keep rule_1"
    ]
    assert len(refusal(DeleteRule(id="rule_1"), permissions=CONSOLIDATOR)) == 1
    half = UpdateRule(id="rule_2", content="To put a thing on the table, search for it.")
    assert "rule_2 would still name rule_1" in refusal(half, DeleteRule(id="rule_1"))[0]
    whole = half.model_copy(update={"builds_on": ("rule_0",)})
    for edits in ((whole, DeleteRule(id="rule_1")), (DeleteRule(id="rule_1"), whole)):
        assert changed(BOOK, *edits).ids == ("rule_0", "rule_2", "rule_3")


def test_a_rule_written_in_a_batch_may_be_cited_and_updated_by_it() -> None:
    first, second = note("The first."), note("Follows from rule_4.").model_copy(update={"builds_on": ("rule_4",)})
    book = changed(BOOK, first, second, UpdateRule(id="rule_4", log="and rule_5 follows"))
    assert book.rule("rule_5").builds_on == ("rule_4",)
    assert book.rule("rule_4").log == ("and rule_5 follows",)


def test_a_text_that_names_a_rule_which_does_not_exist_is_refused() -> None:
    assert "the text names rule_8, but there is no rule_8" in refusal(note("See rule_8."))[0]
    kept = RuleBook.of((*BOOK.active, Rule(id="rule_9", type=RuleType.CORRECTED_ERROR, content="As in rule_77.")))
    assert changed(kept, UpdateRule(id="rule_9", content="Just as in rule_77.")).rule("rule_9")


def test_a_refused_rule_is_not_blamed_on_those_that_cite_it() -> None:
    edits = (note(" "), UpdateRule(id="rule_4", log="x"), DeleteRule(id="rule_4"), note("See rule_4."))
    built = note("On it.").model_copy(update={"builds_on": ("rule_4",)})
    assert len(refusal(*edits, built)) == 1


def test_a_rule_does_not_build_on_itself() -> None:
    assert "cannot build on itself" in refusal(UpdateRule(id="rule_0", builds_on=("rule_0",)))[0]


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


def test_a_type_that_is_none_or_two_is_answered_with_the_choice() -> None:
    with pytest.raises(ValueError, match="choose Special Phenomenon for what is observed, Special Mechanism for how"):
        read_type("Special Phenomena/Mechanism", frozenset(RuleType))
    with pytest.raises(ValueError, match="the types are Special Phenomenon, Special Mechanism, Useful Helper"):
        read_type("Tip", frozenset(RuleType))
    assert "a rule needs a type" in refusal(WriteRule(content="Typeless."))[0]


def test_rules_of_another_form_refuse_what_they_do_not_have() -> None:
    bare = USER.within(Form(types=False, examples=False, logs=False))
    told = refusal(WriteRule(content="x", type="Corrected Error", example="y", log="z"), permissions=bare)
    assert [line.split("here: ")[1] for line in told] == ["leave type out", "leave example out", "leave log out"]
    assert changed(BOOK, WriteRule(content="Typeless."), permissions=bare).rule("rule_4").type is None
    without = USER.within(Form(helper_methods=False))
    told = refusal(note("A helper.", RuleType.USEFUL_HELPER_METHOD), permissions=without)
    assert "no type 'Useful Helper Method'" in told[0]
    assert "Useful Helper Method" not in told[0].split("the types are")[1]


def test_given_rules_are_brought_into_a_form() -> None:
    fitted = Form(types=False, logs=False, helper_methods=False).fitted(BOOK.active)
    assert [rule.id for rule in fitted] == ["rule_0", "rule_2", "rule_3"]
    assert fitted[1] == SUCCESS.model_copy(update={"type": None, "log": (), "builds_on": ()})
    assert Form().fitted(BOOK.active) == BOOK.active
    assert {rule.example for rule in Form(examples=False).fitted(BOOK.active)} == {""}


def test_a_consolidator_deletes_rules_without_types() -> None:
    untyped = RuleBook.of(Form(types=False).fitted(BOOK.active))
    permissions = CONSOLIDATOR.within(Form(types=False))
    assert changed(untyped, DeleteRule(id="rule_3"), permissions=permissions).ids == ("rule_0", "rule_1", "rule_2")
    assert "must not be written" in refusal(WriteRule(content="New."), book=untyped, permissions=permissions)[0]


def test_a_rule_reads_as_plain_lines() -> None:
    assert rule_text(SUCCESS).splitlines() == [
        "rule_2 (Success Process)",
        "  To put a thing on the table, find it with rule_1, take it, put it.",
        "  example:",
        "    # [Step 1] find",
        "    find('key')",
        "  builds on: rule_1",
        "  log: Given by the user.",
    ]
