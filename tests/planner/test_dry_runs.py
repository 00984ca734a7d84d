"""Plans that are dry-run before each of their cells: what cannot succeed is refused, and nothing else."""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from planbook.envs import Action, Selection
from planbook.envs.toy import Toy
from planbook.planner import Episode, EpisodeSettings, MemoryJournal
from planbook.planner.agent import functions_to_check
from planbook.planner.dry_runs import dry_run_of
from planbook.planner.types import FeedbackKind, Step
from planbook.sandbox import Sandbox
from tests.flows import here

TASK = Toy.select(Selection(types=("fetch",), seeds=(0,)))[0]
CALLS = st.one_of(
    st.builds(lambda n: Action("open", (f"box_{n}",)), st.integers(1, 6)),
    st.builds(lambda n: Action("take", ("apple", f"box_{n}")), st.integers(1, 6)),
    st.just(Action("put", ("apple",))),
)


def test_a_cell_is_held_against_what_was_done_before_it(sandbox: Sandbox) -> None:
    playing = Episode(TASK, Toy(), sandbox, MemoryJournal(), settings=EpisodeSettings(actions=10, dry_run=True))
    playing.begin()
    try:
        with playing.frame("plan"):
            assert playing.run("agent.open('box_1')").kind is FeedbackKind.UNFINISHED
            refused = playing.run("agent.open('box_3')\nagent.take('apple', 'box_2')")
            assert refused.kind is FeedbackKind.CHECK
            assert "take('apple', 'box_2') cannot succeed: box_2 was not opened" in refused.text
            assert len(playing.steps) == 1, "nothing of the cell was run"
            assert playing.run("agent.take('apple', 'box_1')").kind is FeedbackKind.UNFINISHED
    finally:
        playing.close()


def test_where_actions_are_replaced_nothing_is_dry_run(sandbox: Sandbox) -> None:
    playing = Episode(TASK, Toy(), sandbox, MemoryJournal(), settings=EpisodeSettings(actions=10, dry_run=True))
    playing.begin()
    try:
        with playing.frame("collect", {"agent.take": lambda thing, box: "noted"}):
            assert playing.run("agent.take('apple', 'box_2')").kind is FeedbackKind.UNFINISHED
    finally:
        playing.close()


def test_a_method_s_own_functions_may_have_done_anything(sandbox: Sandbox) -> None:
    playing = Episode(TASK, Toy(), sandbox, MemoryJournal(), settings=EpisodeSettings(actions=10, dry_run=True))
    playing.begin()
    try:
        with playing.frame("own", {"fetch": lambda: None}):
            assert playing.run("agent.put('apple')").kind is FeedbackKind.CHECK
            assert playing.run("fetch()\nagent.put('apple')").kind is FeedbackKind.UNFINISHED
    finally:
        playing.close()


@pytest.mark.parametrize(
    ("loop", "endless"),
    [
        ("while True:\n    number += 1", True),
        ("while 1:\n    print(number)", True),
        ("while True:\n    agent.open('box_1')", False),
        ("while True:\n    number += 1\n    if number > 3:\n        break", False),
        ("while True:\n    number += 1\n    assert number < 9", False),
        ("while number < 3:\n    number += 1", False),
        ("try:\n    while True:\n        number = 1 / number\nexcept ZeroDivisionError:\n    pass", False),
    ],
)
def test_a_loop_that_nothing_ends_is_found(loop: str, endless: bool) -> None:
    environment = Toy()
    environment.reset(TASK)
    found = dry_run_of(environment, TASK, functions_to_check(Toy), {}, list)(f"number = 0\n{loop}")
    assert [fault.type for fault in found] == ["endless"] * endless


@settings(max_examples=200)
@given(st.lists(CALLS, max_size=6), CALLS)
def test_what_is_refused_would_have_been_refused(done: list[Action], then: Action) -> None:
    environment, steps = Toy(), list[Step]()
    environment.reset(TASK)
    for action in done:
        if environment.ended:
            return
        steps.append(Step(scope="", cell=0, line=1, action=action, observation=environment.act(action)))
    if environment.ended:
        return
    found = dry_run_of(environment, TASK, functions_to_check(Toy), {}, lambda: steps)(f"agent.{then}")
    accepted = environment.act(then).accepted
    assert not (found and accepted)


def test_exec_refuses_a_plan_that_cannot_succeed_before_its_first_action(tmp_path: Path) -> None:
    plan = tmp_path / "plan.py"
    plan.write_text("agent.open('box_1')\nagent.put('apple')\n")
    command = ("exec", plan, "--env", "toy", "--task", TASK.id)
    assert "failure (check) after 0 actions" in (told := here(*command, "--dry-run", "--out", tmp_path / "dry").printed)
    assert "put('apple') cannot succeed: nothing is held then" in told
    assert "after 2 actions" in here(*command, "--out", tmp_path / "run").printed
