"""ADaPT's executor: replies, actions in a reply, and how it declares itself done or failed."""

from typing import Any

import pytest

from planbook.envs import Task
from planbook.envs.alfworld import Alfworld
from planbook.envs.toy import Toy
from planbook.planner import Episode, FeedbackKind, MemoryJournal, Outcome, Recall
from planbook.planner.strategies.adapt.executor import ExecutorOptions, Subtask, execute
from planbook.sandbox import Sandbox
from tests.planner.players import FAIL, GOAL, SOLVE, Players, claims, done_by, episode, played

WORK = Subtask(text="look around")


def worked(
    sandbox: Sandbox, *cells: str, replies: int = 20, journal: MemoryJournal | None = None, **options: Any
) -> tuple[Subtask, Episode, Players]:
    """What an executor claims that replies so, and the episode, which goes on."""
    players = Players({WORK.text: cells})
    playing = episode(sandbox, players, journal=journal)
    playing.begin()
    try:
        claim = execute(playing, WORK, ExecutorOptions.model_validate(options), replies)
    finally:
        playing.close()
    return claim, playing, players


def kinds(playing: Episode) -> list[str]:
    return [feedback.kind.value for feedback in playing.feedbacks]


def actions(playing: Episode) -> list[str]:
    return [str(step.action) for step in playing.steps]


def test_it_works_until_it_says_that_it_is_done(sandbox: Sandbox) -> None:
    claim, playing, players = worked(sandbox, "seen = agent.open('box_1')", "print(seen)", "finish(True, 'seen')")
    assert (claim.done, claim.note) == (True, "seen")
    assert kinds(playing) == ["unfinished"] * 3
    assert len(players.asked) == 3
    assert "finish(True) was called; that ends the work." in playing.feedbacks[-1].text
    first, second, third = players.prompts("executor")
    assert "# Your piece of work\n\nlook around\n\nYou have 20 replies for it." in first
    assert "You have 19 replies left" in second
    assert "You see" not in second
    assert "You open box_1" in third


@pytest.mark.parametrize("replies", [1, 2, 5])
def test_one_iteration_is_one_reply(sandbox: Sandbox, replies: int) -> None:
    journal = MemoryJournal()
    claim, playing, players = worked(sandbox, "agent.open('box_1')", replies=replies, journal=journal)
    assert (claim.done, claim.note) == (False, f"no finish() within {replies} replies")
    assert len(players.asked) == len(playing.cells) == replies
    assert [each["replies"] for each in claims(journal)] == [replies]
    told = [prompt for prompt in players.prompts("executor")[1:] if "This is your last reply" in prompt]
    assert told == players.prompts("executor")[1:][-1:]


def test_a_sub_task_cannot_use_up_the_actions_of_the_episode(sandbox: Sandbox) -> None:
    claim, playing, players = worked(sandbox, "while True:\n    agent.open('box_1')", subtask_actions=5)
    assert (claim.done, claim.note) == (False, "no finish() within 5 actions")
    assert len(playing.steps) == 5
    assert len(players.asked) == 1
    assert ExecutorOptions().most_actions(20) == 200


def test_errors_are_iterations_and_repairs_are_none(sandbox: Sandbox) -> None:
    claim, playing, players = worked(sandbox, "agent.opne('x')", "1 / 0", "rubbish", "finish(True)", replies=3)
    assert claim.done is True
    assert kinds(playing) == ["check", "raised", "unfinished"]
    assert len(players.asked) == 4
    assert "ZeroDivisionError" in players.prompts("executor")[2]


def test_the_number_of_replies_is_that_of_the_paper() -> None:
    assert ExecutorOptions().replies("textcraft") == ExecutorOptions().replies("alfworld") == 20
    assert ExecutorOptions().replies("shopping") == 15
    assert ExecutorOptions(iterations=7).replies("shopping") == 7
    for wrong in ({"iterations": 0}, {"actions_per_reply": 0}, {"demonstrations": "all"}):
        with pytest.raises(ValueError, match=r"greater than or equal to 1|'task', 'hybrid' or 'atomic'"):
            ExecutorOptions.model_validate(wrong)


EVERYWHERE = ("atomic", "common", "stepwise", "stepwise_common")


@pytest.mark.parametrize(
    ("options", "there", "shown"),
    [
        ({}, EVERYWHERE, ["atomic", "common"]),
        ({"demonstrations": "task"}, (*EVERYWHERE, "task"), ["task"]),
        ({"demonstrations": "task"}, EVERYWHERE, ["atomic", "common"]),
        ({"demonstrations": "task", "actions_per_reply": 1}, EVERYWHERE, ["stepwise", "stepwise_common"]),
        ({"demonstrations": "task", "actions_per_reply": 1}, (*EVERYWHERE, "task", "stepwise_task"), ["stepwise_task"]),
        ({"demonstrations": "atomic", "actions_per_reply": 1}, EVERYWHERE, ["stepwise"]),
        ({"actions_per_reply": 1}, ("atomic",), ["atomic", "common"]),
        ({"actions_per_reply": 1}, (), ["atomic", "common"]),
    ],
)
def test_an_executor_is_shown_what_the_environment_has(
    options: dict[str, Any], there: tuple[str, ...], shown: list[str]
) -> None:
    assert list(ExecutorOptions.model_validate(options).shown(there)) == shown


def test_one_action_a_reply_ends_the_code_before_a_second(sandbox: Sandbox) -> None:
    cells = ("for n in (1, 2, 3):\n    print(agent.touch(f'x{n}'))", "agent.touch('y')\nfinish(True)")
    claim, playing, players = worked(sandbox, *cells, actions_per_reply=1)
    assert (claim.done, actions(playing)) == (True, ["touch('x1')", "touch('y')"])
    assert kinds(playing) == ["unfinished"] * 2, "it is no error"
    assert playing.feedbacks[0].output == "You touch x1.\n"
    assert (
        "This code has taken all the actions that it may: touch('x2') was not taken." in players.prompts("executor")[1]
    )
    assert "Write one action in each reply" in players.whole("executor")


def test_a_reply_may_be_given_several_actions(sandbox: Sandbox) -> None:
    loop = "while True:\n    try:\n        agent.touch('x')\n    except BaseException:\n        pass"
    claim, playing, players = worked(sandbox, loop, replies=3, actions_per_reply=4)
    assert (claim.done, len(playing.steps), kinds(playing)) == (False, 12, ["unfinished"] * 3)
    assert "Write at most 4 actions in each reply" in players.whole("executor")
    _, playing, players = worked(sandbox, "for n in range(30):\n    agent.touch('x')\nfinish(True)")
    assert len(playing.steps) == 30
    assert "Each reply takes" not in players.whole("executor")


def test_questions_and_refused_actions_in_a_reply(sandbox: Sandbox) -> None:
    """A question is no action; an action that the environment refuses is one."""
    code = "agent.table()\nprint(agent.holding)\nagent.touch('no wall')\nagent.table()\nagent.touch('x')"
    _, playing, _ = worked(sandbox, code, replies=1, actions_per_reply=1)
    assert actions(playing) == ["touch('no wall')"]


def test_names_of_code_that_ended_early_are_forgotten_and_earlier_ones_are_not(sandbox: Sandbox) -> None:
    cells = (
        "kept = 1\nagent.touch('a')",
        "lost = 2\nagent.touch('b')\nagent.touch('c')",
        "print(kept)",
        "print(lost)",
        FAIL,
    )
    _, playing, _ = worked(sandbox, *cells, actions_per_reply=1)
    assert kinds(playing) == ["unfinished", "unfinished", "unfinished", "check", "unfinished"]
    assert playing.feedbacks[2].output == "1\n"


FINISHING = {
    "in a try": "try:\n    finish(True)\nexcept BaseException:\n    agent.touch('caught')",
    "with finally": "try:\n    finish(True)\nfinally:\n    agent.touch('finally')",
    "in a loop": "for n in range(9):\n    if n == 2:\n        finish(True)\n    assert n < 2",
    "in a function": "def helper():\n    finish(True)\n    agent.touch('after')\nhelper()\nagent.touch('after')",
    "twice": "finish(True)\nfinish(False, 'changed my mind')",
    "in a comprehension": "[finish(done) for done in (True, False)]",
    "by map": "list(map(finish, [True, False]))",
    "by name": "finish(note='there', done=True)\nagent.touch('after')",
    "with context": "x = finish(True) or agent.touch('after')",
    "while one is handled": "try:\n    1 / 0\nexcept ZeroDivisionError:\n    finish(True)",
}


@pytest.mark.parametrize("how", FINISHING)
def test_nothing_is_run_after_finish(sandbox: Sandbox, how: str) -> None:
    claim, playing, players = worked(sandbox, FINISHING[how])
    assert claim.done is True
    assert actions(playing) == []
    assert (kinds(playing), len(players.asked)) == (["unfinished"], 1)


WRONG = {
    "finish()": "check",
    "finish('yes')": "check",
    "finish(True, 'a', 'b')": "check",
    "finish(done=True, why='a')": "check",
    "x = 'yes'\nfinish(x)": "raised",
    "x = None\nfinish(x)": "raised",
    "finish(True, ['a'])": "check",
    "x = {'a': 1}\nfinish(False, x)": "raised",
    "x = 2\nfinish(x > 1, x)": "raised",
    "finish = 3\nfinish(True)": "check",
    "finish(*[True, 'a', 'b'])": "raised",
}


@pytest.mark.parametrize("code", WRONG)
def test_a_wrong_call_of_finish_claims_nothing_and_is_told(sandbox: Sandbox, code: str) -> None:
    claim, playing, players = worked(sandbox, code, "finish(False, 'so')")
    assert (claim.done, claim.note) == (False, "so")
    assert kinds(playing) == [WRONG[code], "unfinished"]
    assert "finish" in players.prompts("executor")[1]


@pytest.mark.parametrize("cells", [("rubbish",), ("agent.touch('x')", "rubbish")])
def test_replies_that_stay_unusable_fail_the_sub_task_and_not_the_episode(
    sandbox: Sandbox, cells: tuple[str, ...]
) -> None:
    claim, playing, players = worked(sandbox, *cells)
    assert claim.done is False
    assert claim.note.startswith("the executor gave no usable reply to executor/")
    assert kinds(playing) == [*["unfinished"] * (len(cells) - 1), "parse"]
    assert len(players.asked) == len(cells) + 2, "two repairs"


def test_code_that_only_ends_in_a_limit_goes_on(sandbox: Sandbox) -> None:
    claim, playing, _ = worked(sandbox, "text = 'x' * 60\nwhile True:\n    print(text)", "finish(False)")
    assert (claim.done, claim.note, kinds(playing)) == (False, "", ["limit", "unfinished"])


def test_an_episode_that_ends_in_it_is_recorded_as_neither(sandbox: Sandbox) -> None:
    journal = MemoryJournal()
    ending, _ = played(sandbox, Players({GOAL: SOLVE}), "react", journal=journal)
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    assert [(each["done"], each["note"]) for each in claims(journal)] == [(None, "The world's episode is over.")]


class Showing:
    """Remembers demonstrations, and what else it is given."""

    def __init__(self, **recall: Any) -> None:
        self._recall = Recall(
            demonstrations={name: f"SHOWN {name}." for name in ("atomic", "common", "task")}, **recall
        )

    def recall(self, task: Task) -> Recall:
        return self._recall


@pytest.mark.parametrize(
    ("option", "shown"), [("hybrid", ["atomic", "common"]), ("task", ["task"]), ("atomic", ["atomic"])]
)
def test_what_it_is_shown_is_an_option(sandbox: Sandbox, option: str, shown: list[str]) -> None:
    players = Players({GOAL: done_by("x")})
    played(sandbox, players, "react", options={"demonstrations": option}, memory=Showing())
    (first,) = players.asked
    expected = "\n\n".join(f"SHOWN {name}." for name in shown)
    assert first[1][0].content.endswith(f"# How it is done\n\n{expected}")


def test_what_is_known_reaches_it(sandbox: Sandbox) -> None:
    players = Players({GOAL: "print(double(4))\n" + SOLVE})
    memory = Showing(text="Keys are in boxes (rule_1).", helpers="def double(x):\n    return 2 * x")
    ending, playing = played(sandbox, players, "react", memory=memory)
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    assert playing.feedbacks[0].output.startswith("8\n")
    assert "Keys are in boxes (rule_1)." in players.whole("executor")


def test_no_environment_has_a_finish_of_its_own() -> None:
    for environment in (Toy, Alfworld):
        assert "finish" not in {*environment.actions, *environment.queries}
        assert "def finish" not in environment.helpers


def test_feedback_kinds_that_a_claim_leaves_behind_are_no_errors(sandbox: Sandbox) -> None:
    ending, playing = played(sandbox, Players({GOAL: FAIL}), "react")
    assert (ending.outcome, ending.cause, ending.error_steps) == (Outcome.FAILURE, "unfinished", 0)
    assert playing.feedbacks[0].kind is FeedbackKind.UNFINISHED
