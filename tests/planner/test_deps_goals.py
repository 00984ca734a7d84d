"""Goals in Minecraft and ALFWorld: they are recognised in the words that the papers' baselines use."""

import re

import pytest
from hypothesis import given, strategies as st

from planbook.envs import Action, Selection
from planbook.envs.alfworld import Alfworld
from planbook.envs.minecraft import Minecraft
from planbook.planner.strategies.deps.text_matching import GoalMatcher


@pytest.fixture
def environment() -> Minecraft:
    environment = Minecraft()
    environment.reset(Minecraft.tasks(Selection())[0])
    return environment


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
def test_a_line_is_mapped_to_the_goal_that_it_means(environment: Minecraft, line: str, goal: Action) -> None:
    assert GoalMatcher(environment.goals).match(line) == goal


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
def test_an_ambiguous_line_is_mapped_to_no_goal(environment: Minecraft, line: str) -> None:
    assert GoalMatcher(environment.goals).match(line) is None


KNOWN = Minecraft().goals.list_goals()
MATCHER = GoalMatcher(Minecraft().goals)


@given(goal=st.sampled_from(KNOWN), count=st.integers(1, 200), dotted=st.booleans())
def test_the_text_of_a_call_means_that_call(goal: Action, count: int, dotted: bool) -> None:
    goals = Minecraft().goals
    wanted = goals.with_count(goal, count)
    assert wanted == goal if goal.name == "equip" else next(iter(dict(wanted.args[0]).values())) == count  # type: ignore[arg-type]
    assert MATCHER.match(f"agent.{wanted}" if dotted else f"{wanted};  # step {count}") == wanted


def test_a_known_goal_is_never_refused_for_a_better_one(environment: Minecraft) -> None:
    """Reasons are a missing tool, station, material or place."""
    start = environment.snapshot()
    better = re.compile(r"Nothing happens: (it takes .* uses [^n]|wrong recipe|.* cannot be )")
    for goal in environment.goals.list_goals():
        assert not better.match(environment.act(goal).text)
        environment.restore(start)
    assert len(environment.goals.list_goals()) > 300


# ALFWorld.


def test_a_line_is_mapped_to_a_goal_of_this_room() -> None:
    task = Alfworld.tasks(Selection(split="generated", types=("pick_and_place",), seeds=(0,)))[0]
    kind, target = str(task.params["object"]), f"{task.params['target']}_1"
    environment = Alfworld()
    environment.reset(task)
    known, nearest = environment.goals.list_goals(), GoalMatcher(environment.goals).match
    assert nearest(f"pick up the {kind} in {target}") == Action("pick", (kind, target))
    assert nearest(f"clean {kind} with sinkbasin 1") == Action("clean", (kind, "sinkbasin_1"))
    assert nearest("open drawer 3") == Action("open", ("drawer_3",))
    assert Action("clean", (kind, target)) not in known
    assert nearest("sing a song") is None
    assert nearest(f"put the {kind} down") is None, "a place must be named"
    assert all(nearest(f"agent.{goal}") == goal for goal in known)
