"""Lines that are not valid calls are matched with the goals that they mean. Each goal here is one action."""

from collections.abc import Sequence

import pytest
from hypothesis import given, strategies as st

from planbook.envs import Action, Environment, Goals, Selection
from planbook.envs.tabletop import Tabletop
from planbook.envs.textcraft import Textcraft
from planbook.envs.toy import Toy
from planbook.planner.strategies.deps.text_matching import GoalMatcher


def started(environment: Environment, task: str) -> Environment:
    environment.reset(type(environment).select(Selection(ids=(task,)))[0])
    return environment


CRAFTING = started(Textcraft(), "test/85").goals
TABLE = started(Tabletop(), "put_block_in_bowl/0").goals
CRAFTED, MOVED = GoalMatcher(CRAFTING), GoalMatcher(TABLE)


@pytest.mark.parametrize(
    ("line", "goal"),
    [
        ("get 1 oak log", Action("get", ("1 oak logs",))),
        ("agent.get('lily of the valley')", Action("get", ("1 lily of the valley",))),
        ("agent.craft('stick', 1, '2 bamboo')", Action("craft", ("1 stick", "2 bamboo"))),
        ("craft 4 oak planks from 1 oak log", Action("craft", ("4 oak planks", "1 oak logs"))),
        ("craft a painting from 8 sticks and 1 red wool", Action("craft", ("1 painting", "8 stick, 1 red wool"))),
        ("make a painting with 8 sticks and 1 red wool", Action("craft", ("1 painting", "8 stick, 1 red wool"))),
        ("craft 8 oak planks from 2 oak logs", None),
        ("get 3 oak logs", None),
        ("get 2 oak planks", None),
        ("craft 1 diamond sword", None),
    ],
)
def test_a_line_in_textcraft_means_a_goal_or_none(line: str, goal: Action | None) -> None:
    assert CRAFTED.match(line) == goal


@pytest.mark.parametrize(
    ("line", "target"),
    [
        ("place the orange block in the red bowl", "red_bowl"),
        ("pick orange_block and place it on spot 3", "spot_3"),
        ("agent.pick_and_place(orange_block, white_block)", "white_block"),
        ("Pick up the orange block and place it in the green bowl", "green_bowl"),
        ("place the ornage block in the red bowl", None),
        ("move the orange block to the red bowl", "red_bowl"),
        ("place the orange block away", None),
        ("place the orange block in the blue bowl", None),
        ("place the block in the red bowl", None),
        ("place 2 orange blocks in the red bowl", None),
    ],
)
def test_a_line_on_the_tabletop_means_a_goal_or_none(line: str, target: str | None) -> None:
    assert MOVED.match(line) == (Action("pick_place", ("orange_block", target)) if target else None)


def test_a_goal_without_an_object_is_matched_with_no_line() -> None:
    class Waiting(Goals):
        def list_goals(self) -> Sequence[Action]:
            return (Action("open", ("box_1",)), Action("wait"))

    assert GoalMatcher(Waiting(Toy())).match("wait for the box_1") is None


@given(move=st.sampled_from(TABLE.list_goals()), goal=st.sampled_from(CRAFTING.list_goals()))
def test_the_text_of_a_goal_means_that_goal(move: Action, goal: Action) -> None:
    assert MOVED.match(f"agent.{move}") == move
    assert CRAFTED.match(f"agent.{goal}") == goal


@given(
    words=st.lists(
        st.sampled_from("place orange block spot _ red bowl 3 ٣ ² , ( ' in and".split()) | st.text(max_size=3)
    ),
    gap=st.sampled_from(["", " "]),
)
def test_any_line_means_a_known_goal_or_none(words: list[str], gap: str) -> None:
    assert MOVED.match(gap.join(words)) in (None, *TABLE.list_goals())
    assert MOVED.match(gap.join(["place orange_block on ", *words])) in (None, *TABLE.list_goals())
