"""A dry run evaluates a cell, a piece of plan code, without acting. It refuses the cell only if it cannot succeed."""

from collections.abc import Iterator

import pytest
from hypothesis import given, settings, strategies as st
from pydantic import BaseModel

from planbook.envs import Action, Observation, Task, action
from planbook.envs.preconditions import ArgValue, Contract, Preconditions
from planbook.envs.toy import Toy
from planbook.planner import Episode
from planbook.planner.agent import functions_to_check
from planbook.planner.dry_runs import make_dry_run
from planbook.planner.types import FeedbackKind, Step
from planbook.sandbox import Sandbox
from tests.planner.episode_kit import TASK, THING, played, started
from tests.planner.streaming_kit import PieceModel

CALLS = st.one_of(
    st.builds(lambda n: Action("open", (f"box_{n}",)), st.integers(1, 6)),
    st.builds(lambda n: Action("take", ("apple", f"box_{n}")), st.integers(1, 6)),
    st.just(Action("put", ("apple",))),
)


@pytest.fixture
def playing(sandbox: Sandbox) -> Iterator[Episode]:
    with started(sandbox, environment=Toy(), dry_run=True) as playing:
        yield playing


def test_a_cell_is_checked_against_the_actions_before_it(playing: Episode) -> None:
    with playing.frame("plan"):
        assert playing.run("agent.open('box_1')").kind is FeedbackKind.UNFINISHED
        refused = playing.run("agent.open('box_3')\nagent.take('apple', 'box_2')")
        assert refused.kind is FeedbackKind.CHECK
        assert "take('apple', 'box_2') cannot succeed: box_2 has not been opened" in refused.text
        assert len(playing.steps) == 1, "nothing of the cell was run"
        assert playing.run("agent.take('apple', 'box_1')").kind is FeedbackKind.UNFINISHED


class Forced(Toy):
    """A toy environment whose boxes open only by force. Using force is the default."""

    @classmethod
    def preconditions(cls, task: Task, options: BaseModel | None = None) -> Preconditions:
        def wrench(box: ArgValue, force: ArgValue) -> Contract:
            return Contract(impossible_reason="" if force else "it takes force")

        return Preconditions({"wrench": wrench})

    @action("agent.wrench('box_1') -> 'It opens.'")
    def wrench(self, box: str, force: bool = True) -> Observation:
        """Open a box by force."""
        return Observation("It opens.")


def test_an_argument_that_is_left_out_has_its_default() -> None:
    environment = Forced()
    environment.reset(TASK)
    dry_run = make_dry_run(environment, TASK, functions_to_check(Forced), {}, list)
    assert [len(dry_run(f"agent.wrench('box_1'{more})")) for more in ("", ", force=False")] == [0, 1]


def test_functions_and_variables_of_earlier_cells_are_not_assumed_to_be_harmless(playing: Episode) -> None:
    with playing.frame("plan", helpers="def peek(box):\n    return agent.open(box)"):
        playing.run("def fetch():\n    agent.open('box_2')\nagent.open('box_3')\nbox = 'box_1'")
        assert playing.run("peek('box_4')\nagent.take('apple', 'box_2')").kind is FeedbackKind.CHECK
        assert playing.run("fetch()\nagent.take('apple', 'box_2')").kind is FeedbackKind.UNFINISHED
        assert (
            playing.run("if not agent.open('box_2'):\n    box = 'sofa'\nagent.open(box)").kind is not FeedbackKind.CHECK
        )


def test_a_plan_that_streams_is_checked_from_the_state_before_its_first_action(sandbox: Sandbox) -> None:
    toy = Toy()
    toy.reset(TASK)
    box = next(f"box_{n}" for n in range(1, 9) if THING in toy.act(Action("open", (f"box_{n}",))).text)
    taking = f"agent.open('{box}')\nagent.take('{THING}', '{box}')\nprint(1)\n"
    model = PieceModel([f"```python\n{taking}agent.put('{THING}')\n```\n"], lambda text: text.splitlines(keepends=True))
    _, streaming = played(sandbox, model, "code-as-policies", environment=Toy(), dry_run=True, stream=True)
    assert [feedback.text for feedback in streaming.feedbacks if feedback.faults] == []
    assert [step.action.name for step in streaming.steps] == ["open", "take", "put"]


def test_a_cell_is_checked_unless_functions_of_the_method_may_have_acted(playing: Episode) -> None:
    taking = "agent.take('apple', 'box_2')"
    assert playing.run(taking).kind is FeedbackKind.CHECK, "outside all frames of the method"
    with playing.frame("collect", {"agent.take": lambda thing, box: "noted"}):
        assert playing.run(taking).kind is FeedbackKind.UNFINISHED, "the frame replaces the action"
    with playing.frame("own", {"fetch": lambda: None}):
        assert playing.run(taking).kind is FeedbackKind.CHECK
        assert playing.run(f"fetch()\n{taking}").kind is FeedbackKind.UNFINISHED


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
    found = make_dry_run(environment, TASK, functions_to_check(Toy), {}, list)(f"number = 0\n{loop}")
    assert [fault.type for fault in found] == ["endless"] * endless


@settings(max_examples=200)
@given(st.lists(CALLS, max_size=6), CALLS)
def test_the_environment_would_refuse_every_refused_action(done: list[Action], next_action: Action) -> None:
    environment, steps = Toy(), list[Step]()
    environment.reset(TASK)
    for earlier in done:
        if not environment.ended:
            observation = environment.act(earlier)
            steps.append(Step(scope="", cell=0, line=1, action=earlier, observation=observation))
    if not environment.ended:
        found = make_dry_run(environment, TASK, functions_to_check(Toy), {}, lambda: steps)(f"agent.{next_action}")
        accepted = environment.act(next_action).accepted
        assert not (found and accepted)
