"""The Consolidator: it always ends, sees what it asked for, and never deletes what tasks are solved with."""

from collections.abc import Mapping, Sequence

from planbook.rules import Evidence, RuleBook, consolidate
from planbook.rules.builder import MAX_ROUNDS
from planbook.rules.edits import RuleChange
from planbook.sandbox import Sandbox
from tests.rules.given import BOOK
from tests.rules.replies import Replies
from tests.rules.told import TERMS, asking, edits, last, roles

STOP = "stop_generating()"
PAST = {"task/1": "The first\nepisode.", "task/2": "The second\nepisode."}


def trajectories(ids: list[str]) -> str:
    return "\n\n".join(PAST[id] for id in ids)


def consolidated(
    sandbox: Sandbox, *texts: str, evidence: Mapping[str, Evidence] | None = None
) -> tuple[RuleBook, Sequence[RuleChange], Replies]:
    scope, model = asking(*texts)
    book, changes = consolidate(scope, sandbox, BOOK, evidence or {}, trajectories, TERMS)
    return book, changes, model


def test_a_merge_is_an_update_and_a_deletion(sandbox: Sandbox) -> None:
    merged = edits(
        'update_rule("rule_2", example="# [Step 1] find; box_9 cannot be taken from", log="took rule_3 up")',
        'delete_rule("rule_3")',
        STOP,
    )
    book, changes, model = consolidated(sandbox, merged)
    assert book.ids == ("rule_0", "rule_1", "rule_2")
    assert "box_9 cannot be taken from" in book.rule("rule_2").example
    (change,) = changes
    assert (change.batch.who, [each.id for each in change.touched]) == ("consolidator", ["rule_2", "rule_3"])
    assert change.on(BOOK) == book
    assert len(model.asked) == 1


def test_a_model_that_never_stops_is_stopped(sandbox: Sandbox) -> None:
    endless = [edits(f'update_rule("rule_0", log="round {number}")') for number in range(20)]
    book, changes, model = consolidated(sandbox, *endless)
    assert len(model.asked) == len(changes) == MAX_ROUNDS
    assert book.rule("rule_0").log == tuple(f"round {number}" for number in range(MAX_ROUNDS))
    assert all(f"You have {left} block" in last(model, MAX_ROUNDS - left) for left in range(1, MAX_ROUNDS + 1))
    lengths = [len(asked) for asked in model.asked]
    assert lengths == [2, 4, 6, 8]


def test_a_model_whose_edits_are_always_refused_is_stopped_too(sandbox: Sandbox) -> None:
    book, changes, model = consolidated(sandbox, *[edits('delete_rule("rule_1")')] * 20)
    assert (book, changes, len(model.asked)) == (BOOK, (), 3)


def test_episodes_that_it_asks_for_are_in_the_next_prompt(sandbox: Sandbox) -> None:
    book, changes, model = consolidated(sandbox, edits('get_trajectory(["task/2", "task/1"])'), edits(STOP))
    assert "The second\nepisode.\n\nThe first\nepisode." in last(model, 1)
    assert roles(model, 1) == ["system", "user", "assistant", "user"]
    assert (book, changes) == (BOOK, ())


def test_looking_and_editing_in_one_block(sandbox: Sandbox) -> None:
    both = edits('update_rule("rule_0", log="looked at task/1")', 'get_trajectory(["task/1"])')
    book, changes, model = consolidated(sandbox, both, edits('delete_rule("rule_3")', STOP))
    assert "The first\nepisode." in last(model, 1)
    assert "looked at task/1" in last(model, 1), "the rules are told as they stand now"
    assert len(changes) == 2
    assert book.ids == ("rule_0", "rule_1", "rule_2")


def test_an_episode_that_is_none_is_told(sandbox: Sandbox) -> None:
    _, _, model = consolidated(sandbox, edits('get_trajectory(["task/9"])'), edits(STOP))
    assert "task/9" in last(model, 1)
    assert "nothing was changed" in last(model, 1)


def test_a_block_that_shows_nothing_is_told_so(sandbox: Sandbox) -> None:
    _, _, model = consolidated(sandbox, edits('update_rule("rule_0", log="x")'), edits(STOP))
    assert "Your last block was run. It printed nothing." in last(model, 1)


def test_evidence_stands_with_its_rule(sandbox: Sandbox) -> None:
    said = {"rule_0": Evidence(cited=2, unblamed=1, solved=1), "rule_7": Evidence(cited=9)}
    _, _, model = consolidated(sandbox, edits(STOP), evidence=said)
    told = last(model, 0)
    assert (
        told.index("## rule_0")
        < told.index("cited in 2 episodes, without blame in 1, solved 1")
        < told.index("## rule_1")
    )
    assert "cited in 9 episodes" not in told, "of a rule that is gone"
    assert "Given by the user." in told
    assert "# The rules now: 4, with room for 12" in told


def test_what_was_done_before_an_unusable_reply_stays(sandbox: Sandbox) -> None:
    book, changes, model = consolidated(sandbox, edits('delete_rule("rule_3")'), "Done.", "Done.", "Done.")
    assert (book.ids, len(changes), len(model.asked)) == (("rule_0", "rule_1", "rule_2"), 1, 4)
