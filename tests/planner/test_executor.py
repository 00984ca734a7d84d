"""ADaPT's executor: its replies, the actions in a reply, and its claim of success or failure."""

from collections.abc import Sequence
from typing import Any

import pytest

from planbook.planner import Episode, MemoryJournal, Outcome
from planbook.planner.strategies.adapt.executor import ExecutorOptions, Subtask, execute
from planbook.sandbox import Sandbox
from tests.planner.episode_kit import GOAL, SOLVE, FixedMemory, SubtaskModels, kinds, played, recorded_subtasks, started

WORK = Subtask(text="look around")


def execute_cells(
    sandbox: Sandbox, *cells: str, replies: int = 20, journal: MemoryJournal | None = None, **options: Any
) -> tuple[Subtask, Episode, SubtaskModels]:
    """Run an executor whose model replies with these cells. Return its claim, the episode and the models."""
    models = SubtaskModels({WORK.text: cells})
    with started(sandbox, models, journal=journal) as playing:
        claim = execute(playing, WORK, ExecutorOptions.model_validate(options), replies)
    return claim, playing, models


def actions(playing: Episode) -> list[str]:
    return [str(step.action) for step in playing.steps]


def test_an_executor_works_until_it_calls_finish(sandbox: Sandbox) -> None:
    cells = ("seen = agent.open('box_1')", "print(seen)", "finish(True, 'seen')")
    claim, playing, models = execute_cells(sandbox, *cells)
    assert (claim.done, claim.note) == (True, "seen")
    assert kinds(playing) == ["unfinished"] * 3
    assert "finish(True) was called; that ends the work." in playing.feedbacks[-1].text
    first, second, third = models.prompts("executor")
    assert "# Your subtask\n\nlook around\n\nYou have 20 replies for it." in first
    assert "You have 19 replies left" in second
    assert "You see" not in second
    assert "You open box_1" in third


@pytest.mark.parametrize("replies", [1, 3])
def test_without_finish_a_subtask_fails_after_its_replies(sandbox: Sandbox, replies: int) -> None:
    journal = MemoryJournal()
    claim, playing, models = execute_cells(sandbox, "agent.open('box_1')", replies=replies, journal=journal)
    assert (claim.done, claim.note) == (False, f"finish() was not called within {replies} replies")
    assert len(models.asked) == len(playing.cells) == replies
    assert [each["replies"] for each in recorded_subtasks(journal)] == [replies]
    last = [prompt for prompt in models.prompts("executor")[1:] if "This is your last reply" in prompt]
    assert last == models.prompts("executor")[1:][-1:]


def test_without_finish_a_subtask_fails_after_its_actions(sandbox: Sandbox) -> None:
    claim, playing, models = execute_cells(sandbox, "while True:\n    agent.open('box_1')", replies=2)
    assert (claim.done, claim.note) == (False, "finish() was not called within 20 actions")
    assert len(playing.steps) == 20
    assert len(models.asked) == 1


def test_an_error_counts_as_a_reply_and_a_repair_does_not(sandbox: Sandbox) -> None:
    cells = ("agent.opne('x')", "1 / 0", "rubbish", "finish(True)")
    claim, playing, models = execute_cells(sandbox, *cells, replies=3)
    assert claim.done is True
    assert kinds(playing) == ["check", "raised", "unfinished"]
    assert len(models.asked) == 4
    assert "ZeroDivisionError" in models.prompts("executor")[2]


def test_code_that_exceeds_a_limit_does_not_end_the_subtask(sandbox: Sandbox) -> None:
    cells = ("text = 'x' * 60\nwhile True:\n    print(text)", "finish(False)")
    claim, playing, _ = execute_cells(sandbox, *cells)
    assert (claim.done, claim.note, kinds(playing)) == (False, "", ["limit", "unfinished"])


@pytest.mark.parametrize("cells", [("rubbish",), ("agent.touch('x')", "rubbish")])
def test_unusable_replies_fail_the_subtask_and_not_the_episode(sandbox: Sandbox, cells: tuple[str, ...]) -> None:
    claim, playing, models = execute_cells(sandbox, *cells)
    assert claim.done is False
    assert claim.note.startswith("the executor gave no usable reply to executor/")
    assert kinds(playing) == [*["unfinished"] * (len(cells) - 1), "parse"]
    assert len(models.asked) == len(cells) + 2, "two repairs"


def test_the_number_of_replies_is_the_one_that_the_paper_uses() -> None:
    assert ExecutorOptions().replies("textcraft") == ExecutorOptions().replies("alfworld") == 20
    assert ExecutorOptions().replies("shopping") == 15
    assert ExecutorOptions(iterations=7).replies("shopping") == 7
    for wrong in ({"iterations": 0}, {"actions_per_reply": 0}, {"demonstrations": "all"}):
        with pytest.raises(ValueError, match=r"greater than or equal to 1|'task', 'hybrid' or 'atomic'"):
            ExecutorOptions.model_validate(wrong)


WITHOUT_TYPES = ("atomic", "common", "stepwise", "stepwise_common")


@pytest.mark.parametrize(
    ("options", "available", "shown"),
    [
        ({}, WITHOUT_TYPES, ["atomic", "common"]),
        ({"demonstrations": "task"}, (*WITHOUT_TYPES, "task"), ["task"]),
        ({"demonstrations": "task", "actions_per_reply": 1}, WITHOUT_TYPES, ["stepwise", "stepwise_common"]),
        ({"demonstrations": "task", "actions_per_reply": 1}, ("task", "stepwise_task"), ["stepwise_task"]),
        ({"demonstrations": "atomic", "actions_per_reply": 1}, WITHOUT_TYPES, ["stepwise"]),
        ({"actions_per_reply": 1}, ("atomic",), ["atomic", "common"]),
    ],
)
def test_demonstrations_are_chosen_by_options_among_the_available(
    options: dict[str, Any], available: Sequence[str], shown: list[str]
) -> None:
    assert list(ExecutorOptions.model_validate(options).shown_demonstrations(available)) == shown


def test_with_one_action_a_reply_the_code_ends_before_a_second(sandbox: Sandbox) -> None:
    cells = ("for n in (1, 2, 3):\n    print(agent.touch(f'x{n}'))", "agent.touch('y')\nfinish(True)")
    claim, playing, models = execute_cells(sandbox, *cells, actions_per_reply=1)
    assert (claim.done, actions(playing)) == (True, ["touch('x1')", "touch('y')"])
    assert kinds(playing) == ["unfinished"] * 2, "being cut off is not an error"
    assert playing.feedbacks[0].output == "You touch x1.\n"
    message = "This code has taken all the actions it is allowed to take: touch('x2') was not taken."
    assert message in models.prompts("executor")[1]
    assert "Write one action in each reply" in models.all_text("executor")


def test_a_reply_takes_as_many_actions_as_the_option_allows(sandbox: Sandbox) -> None:
    loop = "while True:\n    try:\n        agent.touch('x')\n    except BaseException:\n        pass"
    claim, playing, models = execute_cells(sandbox, loop, replies=3, actions_per_reply=4)
    assert (claim.done, len(playing.steps), kinds(playing)) == (False, 12, ["unfinished"] * 3)
    assert "Write at most 4 actions in each reply" in models.all_text("executor")
    _, playing, models = execute_cells(sandbox, "for n in range(30):\n    agent.touch('x')\nfinish(True)")
    assert len(playing.steps) == 30
    assert "Each reply takes" not in models.all_text("executor")


def test_a_refused_action_counts_as_an_action_but_a_query_does_not(sandbox: Sandbox) -> None:
    code = "agent.table()\nprint(agent.holding)\nagent.touch('no wall')\nagent.table()\nagent.touch('x')"
    _, playing, _ = execute_cells(sandbox, code, replies=1, actions_per_reply=1)
    assert actions(playing) == ["touch('no wall')"]


@pytest.mark.parametrize(
    "code",
    [
        "try:\n    finish(True)\nexcept BaseException:\n    agent.touch('x')\nfinally:\n    agent.touch('y')",
        "def helper():\n    finish(True)\n    agent.touch('after')\nhelper()\nagent.touch('after')",
        "[finish(done) for done in (True, False)]",
        "list(map(finish, [True, False]))",
        "finish(note='there', done=True)\nagent.touch('after')",
        "try:\n    1 / 0\nexcept ZeroDivisionError:\n    finish(True)",
    ],
)
def test_nothing_runs_after_finish(sandbox: Sandbox, code: str) -> None:
    claim, playing, models = execute_cells(sandbox, code)
    assert claim.done is True
    assert actions(playing) == []
    assert (kinds(playing), len(models.asked)) == (["unfinished"], 1)


@pytest.mark.parametrize(
    ("code", "kind"),
    [
        ("finish()", "check"),
        ("finish('yes')", "check"),
        ("x = 'yes'\nfinish(x)", "raised"),
        ("finish(True, ['a'])", "check"),
        ("x = {'a': 1}\nfinish(False, x)", "raised"),
        ("finish = 3\nfinish(True)", "check"),
        ("finish(*[True, 'a', 'b'])", "raised"),
    ],
)
def test_a_wrong_call_of_finish_claims_nothing_and_is_shown(sandbox: Sandbox, code: str, kind: str) -> None:
    claim, playing, models = execute_cells(sandbox, code, "finish(False, 'so')")
    assert (claim.done, claim.note) == (False, "so")
    assert kinds(playing) == [kind, "unfinished"]
    assert "finish" in models.prompts("executor")[1]


def test_an_executor_has_the_rules_helpers_and_demonstrations_of_the_memory(sandbox: Sandbox) -> None:
    models = SubtaskModels({GOAL: "print(double(4))\n" + SOLVE})
    shown = {name: f"SHOWN {name}." for name in ("atomic", "common", "task")}
    helpers = "def double(x):\n    return 2 * x"
    memory = FixedMemory(text="Keys are in boxes (rule_1).", helpers=helpers, demonstrations=shown)
    ending, playing = played(sandbox, models, "react", memory=memory)
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    assert playing.feedbacks[0].output.startswith("8\n")
    system = models.asked[0][1][0].content
    assert "Keys are in boxes (rule_1)." in system
    assert system.endswith("# Examples\n\nSHOWN atomic.\n\nSHOWN common.")
