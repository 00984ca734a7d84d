"""Properties that hold after any sequence of batches of edits and undos."""

from hypothesis import event, given, strategies as st

from planbook.rules import History, RuleBook, RuleType
from planbook.rules.book import cited_ids, states
from planbook.rules.edit_faults import BatchRefused, EditFault
from planbook.rules.permissions import BUILDER_PERMISSIONS, Case, Permissions
from planbook.rules.types import HOW_TO_TYPES
from tests.rules.example_book import BOOK, USER, Edit, apply, delete, update, write

IDS = st.integers(0, 6).map(lambda number: f"rule_{number}")
SOUND = st.integers(0, 999).map(lambda number: f"Box {number} sticks.")
TEXTS = st.sampled_from(["", "A box sticks.", "a  BOX sticks.", "As in rule_1.", "See rule_4 and rule_2."]) | SOUND
TYPES = st.sampled_from([*RuleType, *RuleType, "Tip", ""])
BUILT_ON = st.none() | st.lists(IDS, max_size=2)
WRITES = st.builds(write, SOUND, st.sampled_from(RuleType), example=SOUND) | st.builds(
    write, TEXTS | st.text(min_size=1), TYPES, example=TEXTS, log=TEXTS, builds_on=BUILT_ON
)
UPDATES = st.builds(update, IDS, content=SOUND, log=TEXTS) | st.builds(
    update, IDS, content=TEXTS | st.text(), type=TYPES, example=TEXTS, log=TEXTS, builds_on=BUILT_ON
)
DELETES = st.builds(delete, IDS)
EDITS = WRITES | UPDATES | DELETES
BATCHES = st.lists(EDITS, max_size=3)
SINGLE = st.lists(EDITS, min_size=1, max_size=1)
UNDO = st.integers(1, 5)


def after_move(history: History, move: list[Edit] | int, permissions: Permissions = USER) -> History:
    """Return the history after a batch or an undo, or the same history if it is refused."""
    if isinstance(move, int):
        books = states(history.initial, history.entries)
        possible = move < len(books) and books[move - 1].active != books[-1].active
        return history.undo(move) if possible else history
    try:
        return history.record(apply(history.book, *move, permissions=permissions))
    except BatchRefused:
        return history


def success_rules(book: RuleBook) -> list[tuple[str, RuleType | None]]:
    return [(rule.id, rule.type) for rule in book.active if rule.type in HOW_TO_TYPES]


@given(st.lists(SINGLE | BATCHES | UNDO, max_size=12))
def test_no_id_is_assigned_twice(moves: list[list[Edit] | int]) -> None:
    history, assigned = History(initial=BOOK), list(BOOK.ids)
    for move in moves:
        before, history = history, after_move(history, move)
        if history is not before and not isinstance(move, int):
            assigned += apply(before.book, *move).assigned
        assert set(history.book.ids) <= set(assigned)
        assert history.book.next_number == len(assigned)
    assert len(assigned) == len(set(assigned))


@given(st.lists(SINGLE | BATCHES | UNDO, max_size=12))
def test_the_log_reproduces_the_book(moves: list[list[Edit] | int]) -> None:
    history, book = History(initial=BOOK), BOOK
    for move in moves:
        before, history = history, after_move(history, move)
        if history is before:
            continue
        if isinstance(move, int):
            undone = states(BOOK, before.entries[: move - 1])[-1]
            book = RuleBook(active=undone.active, next_number=book.next_number)
        else:
            book = apply(book, *move).apply_to(book)
        assert history.book == book
    assert History.model_validate_json(history.model_dump_json()).book == book


@given(st.lists(SINGLE, max_size=4), st.lists(EDITS, min_size=1, max_size=4))
def test_a_batch_is_applied_whole_or_not_at_all(moves: list[list[Edit]], edits: list[Edit]) -> None:
    book = BOOK
    for move in moves:
        book = after_move(History(initial=book), move).book
    before = book.model_dump_json()
    change, faults = None, tuple[EditFault, ...]()
    try:
        change = apply(book, *edits)
    except BatchRefused as refused:
        faults = refused.faults
    if change is None:
        assert faults
        event(f"refused with {len(faults)} faults")
    else:
        assert len(change.assigned) == sum(edit.function == "write_rule" for edit in edits)
        after = change.apply_to(book)
        deleted = {edit.arguments["rule_id"] for edit in edits if edit.function == "delete_rule"}
        assert not deleted & {*after.ids}
        assert set(after.ids) >= set(change.assigned)
        event(f"applied {len(edits)} edits")
    assert book.model_dump_json() == before


@given(st.lists(SINGLE | BATCHES, max_size=12))
def test_every_cited_rule_exists(moves: list[list[Edit]]) -> None:
    history = History(initial=BOOK)
    for move in moves:
        history = after_move(history, move)
        known = set(history.book.ids)
        assert all(known.issuperset(cited_ids(rule)) for rule in history.book.active)


@given(
    st.lists(SINGLE | BATCHES, max_size=12),
    st.sampled_from([Case.FAILURE_IMPERFECT_RULES, Case.FAILURE_IMPERFECT_AGENT]),
)
def test_a_failure_changes_no_success_rules(moves: list[list[Edit]], case: Case) -> None:
    history = History(initial=BOOK)
    for move in moves:
        history = after_move(history, move, BUILDER_PERMISSIONS[case])
        assert success_rules(history.book) == success_rules(BOOK)
