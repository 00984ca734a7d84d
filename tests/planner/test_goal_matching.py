"""Lines are matched with the goals that they mean, in the words of models and of the papers' baselines."""

import re
from collections.abc import Sequence

import pytest
from hypothesis import given, strategies as st

from planbook.envs import Action, Environment, Goals, Selection
from planbook.envs.alfworld import Alfworld
from planbook.envs.minecraft import Minecraft
from planbook.envs.tabletop import Tabletop
from planbook.envs.textcraft import Textcraft
from planbook.envs.toy import Toy
from planbook.planner.strategies.deps.text_matching import GoalMatcher


def started(environment: Environment, task: str) -> Environment:
    environment.reset(type(environment).select(Selection(ids=(task,)))[0])
    return environment


MINECRAFT = Minecraft().goals
CRAFTING = started(Textcraft(), "test/85").goals
TABLE = started(Tabletop(), "put_block_in_bowl/0").goals
MINED, CRAFTED, MOVED = map(GoalMatcher, (MINECRAFT, CRAFTING, TABLE))


@pytest.mark.parametrize(
    ("line", "goal"),
    [
        ("mine 3 logs", Action("mine", ({"log": 3}, None))),
        ("mine({'log': 3}, tools=None)", Action("mine", ({"log": 3}, None))),
        ("agent.mine(log=2)", Action("mine", ({"log": 2}, None))),
        ("mine({'cobblestone':2}, null);", Action("mine", ({"cobblestone": 2}, "wooden_pickaxe"))),
        ("mine 5 coal with an iron pickaxe", Action("mine", ({"coal": 5}, "iron_pickaxe"))),
        ("agent.craft('planks', 12)", Action("craft", ({"planks": 12}, {"log": 3}, None))),
        ("craft_stick(num = 4)", Action("craft", ({"stick": 4}, {"planks": 2}, None))),
        (
            "craft 2 carrots on a stick",
            Action("craft", ({"carrot_on_a_stick": 2}, {"fishing_rod": 2, "carrot": 2}, None)),
        ),
        (
            "craft iron pickaxe from 3 iron ingots and 2 sticks",
            Action("craft", ({"iron_pickaxe": 1}, {"iron_ingot": 3, "stick": 2}, "crafting_table")),
        ),
        ("smelt iron ingots in the furnace", Action("smelt", ({"iron_ingot": 1}, {"iron_ore": 1}, "furnace"))),
        ("mine 3 stone", Action("mine", ({"cobblestone": 3}, "wooden_pickaxe"))),
        ("kill a cow for leather", Action("kill", ({"leather": 1}, None))),
        ("equip the leather boots", Action("equip", ("leather_boots",))),
        ("Goal 3: equip the leather boots", Action("equip", ("leather_boots",))),
        ("(4) chop log x3", Action("mine", ({"log": 3}, None))),
        ("make a furnace", Action("craft", ({"furnace": 1}, {"cobblestone": 8}, "crafting_table"))),
    ],
)
def test_a_line_in_minecraft_means_a_goal(line: str, goal: Action) -> None:
    assert MINED.match(line) == goal


@pytest.mark.parametrize(
    "line",
    [
        "build a house by the sea",
        "gather('log', 3)",
        "agent.mien(log=2)",
        "kill 3 sheep",
        "craft a pickaxe",
        "craft a bowl for mushroom stew",
        "mine palm log",
        "mine 0 logs",
        "mine 3 logs and 2 sand",
        "mine({'log': 1, 'sand': 2}, 1, 2, 3)",
        "mine 123456789123456789 logs",
        "kill a cow for wool",
        "equip 2 leather boots",
    ],
)
def test_an_ambiguous_line_means_no_goal(line: str) -> None:
    assert MINED.match(line) is None


@given(goal=st.sampled_from(MINECRAFT.list_goals()), count=st.integers(1, 200), dotted=st.booleans())
def test_the_text_of_a_call_means_that_call(goal: Action, count: int, dotted: bool) -> None:
    wanted = MINECRAFT.with_count(goal, count)
    assert wanted == goal if goal.name == "equip" else next(iter(dict(wanted.args[0]).values())) == count  # type: ignore[arg-type]
    assert MINED.match(f"agent.{wanted}" if dotted else f"{wanted};  # step {count}") == wanted


def test_a_known_goal_is_never_refused_for_a_better_one() -> None:
    """Reasons are a missing tool, station, material or place."""
    environment = started(Minecraft(), "MT1/chest/0")
    start = environment.snapshot()
    better = re.compile(r"Nothing happens: (it takes .* uses [^n]|wrong recipe|.* cannot be )")
    for goal in environment.goals.list_goals():
        assert not better.match(environment.act(goal).text)
        environment.restore(start)
    assert len(environment.goals.list_goals()) > 300


def test_a_line_in_alfworld_means_a_goal_of_this_room() -> None:
    task = Alfworld.tasks(Selection(split="generated", types=("pick_and_place",), seeds=(0,)))[0]
    kind, target = str(task.params["object"]), f"{task.params['target']}_1"
    environment = started(Alfworld(), task.id)
    known, nearest = environment.goals.list_goals(), GoalMatcher(environment.goals).match
    assert nearest(f"pick up the {kind} in {target}") == Action("pick", (kind, target))
    assert nearest(f"clean {kind} with sinkbasin 1") == Action("clean", (kind, "sinkbasin_1"))
    assert nearest("open drawer 3") == Action("open", ("drawer_3",))
    assert Action("clean", (kind, target)) not in known
    assert nearest("sing a song") is None
    assert nearest(f"put the {kind} down") is None, "a place must be named"
    assert all(nearest(f"agent.{goal}") == goal for goal in known)


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
