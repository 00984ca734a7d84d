"""The Consolidator always ends, sees the episodes that it requests, and keeps the rules that solve tasks."""

from collections.abc import Mapping, Sequence

from planbook.rules import Evidence, RuleBook, consolidate
from planbook.rules.book import RuleChange
from planbook.rules.builder import MAX_REPLIES
from planbook.sandbox import Sandbox
from tests.planner.episode_kit import Replies
from tests.rules.builder_kit import SETTINGS, STOP, edits, scripted_scope
from tests.rules.example_book import BOOK

EPISODES = {"task/1": "The first\nepisode.", "task/2": "The second\nepisode."}
DELETE = 'delete_rule("rule_3")'


def run_consolidator(
    sandbox: Sandbox, *texts: str, evidence: Mapping[str, Evidence] | None = None
) -> tuple[RuleBook, Sequence[RuleChange], Replies]:
    def trajectories(ids: list[str]) -> str:
        return "\n\n".join(EPISODES[id] for id in ids)

    scope, model = scripted_scope(*texts)
    book, changes = consolidate(scope, sandbox, BOOK, evidence or {}, trajectories, SETTINGS)
    return book, changes, model


def test_a_merge_is_an_update_and_a_deletion(sandbox: Sandbox) -> None:
    update = 'update_rule("rule_2", example="# [Step 1] find; box_9 cannot be taken from", log="took rule_3 up")'
    book, changes, model = run_consolidator(sandbox, edits(update, DELETE, STOP))
    assert book.ids == ("rule_0", "rule_1", "rule_2")
    assert "box_9 cannot be taken from" in book.rule("rule_2").example
    (change,) = changes
    assert (change.batch.who, [each.id for each in change.touched]) == ("consolidator", ["rule_2", "rule_3"])
    assert change.apply_to(BOOK) == book
    assert len(model.asked) == 1


def test_a_model_that_never_stops_is_stopped(sandbox: Sandbox) -> None:
    endless = [edits(f'update_rule("rule_0", log="round {number}")') for number in range(20)]
    book, changes, model = run_consolidator(sandbox, *endless)
    assert len(model.asked) == len(changes) == MAX_REPLIES
    assert book.rule("rule_0").log == tuple(f"round {number}" for number in range(MAX_REPLIES))
    assert all(f"You have {left} block" in model.prompt(MAX_REPLIES - left) for left in range(1, MAX_REPLIES + 1))
    assert "Your last block ran. It printed nothing." in model.prompt(1)
    assert [len(messages) for messages in model.asked] == [2, 4, 6, 8]


def test_a_model_whose_edits_are_always_refused_is_stopped(sandbox: Sandbox) -> None:
    book, changes, model = run_consolidator(sandbox, *[edits('delete_rule("rule_1")')] * 20)
    assert (book, changes, len(model.asked)) == (BOOK, (), 3)
    assert "a Useful Helper Method rule must not be deleted, or merged into another" in model.prompt(1)


def test_an_unusable_reply_ends_the_consolidation_and_keeps_earlier_changes(sandbox: Sandbox) -> None:
    book, changes, model = run_consolidator(sandbox, edits(DELETE), "Done.", "Done.", "Done.")
    assert (book.ids, len(changes), len(model.asked)) == (("rule_0", "rule_1", "rule_2"), 1, 4)


def test_a_block_may_edit_rules_and_request_episodes(sandbox: Sandbox) -> None:
    both = edits('update_rule("rule_0", log="looked at task/1")', 'get_trajectory(["task/1"])')
    book, changes, model = run_consolidator(sandbox, both, edits(DELETE, STOP))
    assert "The first\nepisode." in model.prompt(1)
    assert "looked at task/1" in model.prompt(1), "the prompt has the current rules"
    assert len(changes) == 2
    assert book.ids == ("rule_0", "rule_1", "rule_2")


def test_a_prompt_has_the_evidence_of_each_rule(sandbox: Sandbox) -> None:
    evidence = {"rule_0": Evidence(cited=2, unblamed=1, solved=1), "rule_7": Evidence(cited=9)}
    _, _, model = run_consolidator(sandbox, edits(STOP), evidence=evidence)
    prompt = model.prompt(0)
    parts = ("# The rules now: 4 (at most 12)", "## rule_0", "cited in 2 episodes (1 without blame, 1 solved)")
    positions = [prompt.index(part) for part in (*parts, "## rule_1", "Given by the user.")]
    assert positions == sorted(positions)
    assert "cited in 9 episodes" not in prompt, "rule_7 was deleted"
