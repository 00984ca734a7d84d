"""The history of a rule book: undoing changes, comparing states, and a log with one line for each entry."""

import pytest

from planbook.rules import History, RuleType, new_lesson_ids
from planbook.rules.book import BadHistory, Batch, states
from planbook.rules.permissions import Case
from tests.rules.example_book import BOOK, Edit, apply, delete, note, update


def with_change(history: History, *edits: Edit) -> History:
    return history.record(apply(history.book, *edits))


@pytest.fixture
def history() -> History:
    """Three changes: rule_4 written, rule_0 updated, rule_3 deleted."""
    history = with_change(History(initial=BOOK), note("Box_9 sticks."))
    history = with_change(history, update("rule_0", content="A box must be opened.", log="task/2"))
    return with_change(history, delete("rule_3"))


def test_edits_that_change_nothing_are_no_changes(history: History) -> None:
    same = with_change(history)
    assert (len(same.entries), same.change_count) == (4, 3)
    assert same.undo(1).change_count == 4


def test_undo_reverts_a_change_and_all_later_ones(history: History) -> None:
    undone = history.undo(2)
    assert undone.entries[:3] == history.entries
    assert undone.book.active == states(BOOK, history.entries[:1])[-1].active
    assert undone.undo(1).book.active == BOOK.active
    assert history.undo(1).undo(4).book == history.book, "an undo can itself be undone"
    again = with_change(history.undo(1), note("Another finding."))
    assert again.book.ids == ("rule_0", "rule_1", "rule_2", "rule_3", "rule_5"), "ids are not reused"


def test_an_impossible_undo_is_refused(history: History) -> None:
    with pytest.raises(BadHistory, match="no change 4 to undo; the log has entries from 1 to 3"):
        history.undo(4)
    with pytest.raises(BadHistory, match="no change 0"):
        history.undo(0)
    with pytest.raises(BadHistory, match="nothing has been changed yet"):
        History(initial=BOOK).undo(1)
    with pytest.raises(BadHistory, match="undoing change 2 changes nothing"):
        history.undo(2).undo(2)
    with pytest.raises(BadHistory, match="undoing change 1 changes nothing"):
        history.undo(1).undo(1)


def test_new_lessons_are_rules_that_are_still_new_or_reworded(history: History) -> None:
    assert new_lesson_ids(history, 0) == {"rule_0", "rule_4"}
    assert new_lesson_ids(history, 2) == set()
    assert new_lesson_ids(history.undo(2), 0) == {"rule_4"}
    logged = with_change(history, update("rule_0", log="task/4"), note("How to.", RuleType.SUCCESS_PROCESS))
    assert new_lesson_ids(logged, 3) == set()


def test_a_change_for_another_book_is_not_recorded(history: History) -> None:
    change = apply(BOOK, update("rule_3", log="x"))
    with pytest.raises(BadHistory, match="rule_3 differs from"):
        history.record(change)
    with pytest.raises(BadHistory, match="entry 1 undoes entry 3, which is not an earlier entry"):
        states(BOOK, history.undo(3).entries[3:])[-1]


def test_the_difference_of_two_states_is_shown_rule_by_rule(history: History) -> None:
    assert history.diff(1, 3) == (
        "--- rule_0 at 1\n+++ rule_0 at 3\n@@ -1,2 +1,3 @@\n"
        " rule_0 (Special Mechanism)\n"
        "-  A box must be opened before one sees into it.\n"
        "+  A box must be opened.\n"
        "+  log: task/2\n"
        "--- rule_3 at 1\n+++ rule_3 at 3\n@@ -1,2 +0,0 @@\n"
        "-rule_3 (Unresolved Error)\n"
        "-  Taking from box_9 failed.\n"
    )
    assert "+rule_4 (Special Phenomenon)" in history.diff(0, 1)
    assert history.diff(2, 2) == ""
    with pytest.raises(BadHistory, match="no state 9"):
        history.diff(0, 9)


def test_the_log_has_a_line_for_each_entry(history: History) -> None:
    batch_with_case = Batch(who="builder", where="task/3/builder/0", case=Case.DIRECT_SUCCESS)
    history = history.record(apply(history.book, note("More."), batch=batch_with_case)).undo(2)
    empty = history.record(apply(history.book, batch=Batch(who="consolidator", where="")))
    assert empty.log() == [
        "   1  user at task/17: wrote rule_4 (Special Phenomenon)",
        "   2  user at task/17: updated rule_0",
        "   3  user at task/17: deleted rule_3",
        "   4  builder at task/3/builder/0 (direct success): wrote rule_5 (Special Phenomenon)",
        "   5  user: went back to the rules before change 2",
        "   6  consolidator: changed nothing",
    ]
