"""Goals in Minecraft: lines in the words of the papers' baselines, and choosing what is nearest."""

import re
from collections.abc import Iterator

import pytest

from envs import Action, Selection, Task
from envs.minecraft import Minecraft
from planner import Episode, MemoryJournal, Outcome, Roles, Terms, method, play
from planner.goals import nearest
from planner.models import ScriptedModel
from sandbox import Sandbox
from tests.planner.camp import code

PLAN = """
agent.kill({"wool": 2})
agent.mine({"sand": 2}, None)
agent.mine({"log": 3}, None)
agent.craft({"planks": 12}, {"log": 3}, None)
agent.craft({"crafting_table": 1}, {"planks": 4}, None)
agent.craft({"stick": 4}, {"planks": 2}, None)
agent.craft({"wooden_pickaxe": 1}, {"planks": 3, "stick": 2}, "crafting_table")
agent.mine({"cobblestone": 8}, "wooden_pickaxe")
agent.craft({"furnace": 1}, {"cobblestone": 8}, "crafting_table")
agent.smelt({"glass": 2}, {"sand": 2}, "furnace")
"""
SEEDS = range(6)


@pytest.fixture(scope="module")
def sandbox() -> Iterator[Sandbox]:
    with Sandbox() as shared:
        yield shared


@pytest.fixture
def world() -> Minecraft:
    world = Minecraft()
    world.reset(Minecraft.tasks(Selection())[0])
    return world


@pytest.mark.parametrize(
    ("line", "goal"),
    [
        ("mine 3 log without tool", Action("mine", ({"log": 1}, None))),
        ("mine({'cobblestone':2}, null);", Action("mine", ({"cobblestone": 1}, "wooden_pickaxe"))),
        ("craft 12 planks from 3 log", Action("craft", ({"planks": 4}, {"log": 1}, None))),
        ("craft_stick(num = 4)", Action("craft", ({"stick": 4}, {"planks": 2}, None))),
        ("smelt iron ingots in the furnace", Action("smelt", ({"iron_ingot": 1}, {"iron_ore": 1}, "furnace"))),
        ("kill a sheep for wool", Action("kill", ({"wool": 1}, None))),
        ("equip the leather boots", Action("equip", ("leather_boots",))),
        ("build a house by the sea", None),
    ],
)
def test_a_line_is_taken_for_the_goal_that_reads_most_like_it(world: Minecraft, line: str, goal: Action | None) -> None:
    assert nearest(line, world.goals.known()) == goal


def test_what_a_known_goal_lacks_is_never_a_better_plan(world: Minecraft) -> None:
    """Only what is not there yet: a tool, a station, material, or a place that has the thing."""
    reasons = {world.goals.refusal(goal) for goal in world.goals.known()}
    better = re.compile(r"wrong tool|the recipe is another|.* cannot be |.* is mined")
    assert not list(filter(better.match, reasons))
    assert len(world.goals.known()) > 300


def ticks(sandbox: Sandbox, selector: str, seed: int) -> int:
    task = Task(
        id=f"glass/{seed}",
        env="minecraft",
        split="test",
        type="MT2_tool_simple",
        goal="obtain 2 glass",
        params={"object": "glass", "count": 2},
        seed=seed,
    )
    world, model = Minecraft(), ScriptedModel([code(PLAN)])
    roles = Roles(lambda _: model, {})
    playing = Episode(task, world, sandbox, MemoryJournal(), terms=Terms(actions=100), roles=roles)
    deps = method("deps")
    ending = play(playing, deps.play, deps.options.model_validate({"selector": selector}))
    assert ending.outcome is Outcome.DIRECT_SUCCESS
    return int(world.body.spot.tick)


def test_the_nearest_goals_first_take_less_time(sandbox: Sandbox) -> None:
    spent = {selector: sum(ticks(sandbox, selector, seed) for seed in SEEDS) for selector in ("fixed", "nearest")}
    assert spent["nearest"] < spent["fixed"]
