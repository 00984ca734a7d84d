"""What Minecraft tells a selector of goals. Queries change nothing, the answers are true, and the order matters.

The shipped table of recorded goals can be reproduced, and no measurement uses its seeds.
"""

import random
from collections.abc import Callable
from math import inf, isfinite
from statistics import mean

import pytest
from hypothesis import given, strategies as st

from planbook.envs import Action, Selection
from planbook.envs.minecraft import Minecraft, MinecraftOptions
from planbook.envs.minecraft.goals import HORIZONS_FILE
from planbook.envs.minecraft.tasks import DEFAULT_SEEDS, parallel_goals
from tests.minecraft_plans import TO_DIAMOND, act_all, start_task
from tools import record_goals
from tools.bench.selector import SEEDS as MEASURED
from tools.record_goals import HEADER, SEEDS, render_table

COUNTS = st.integers(1, 5)
GATHERED = st.sampled_from(
    "log birch_log acacia_log sand cobblestone coal iron_ore diamond dirt reeds obsidian".split()
)
TOOLS = st.sampled_from([None, "wooden_pickaxe", "stone_pickaxe", "iron_pickaxe", "axe"])
GOALS = st.one_of(
    st.builds(lambda item, n, tool: Action("mine", ({item: n}, tool)), GATHERED, COUNTS, TOOLS),
    st.builds(
        lambda item, n: Action("kill", ({item: n}, None)),
        st.sampled_from(["wool", "leather", "chicken", "string"]),
        COUNTS,
    ),
    st.builds(lambda n: Action("craft", ({"stick": n}, {"planks": 2 * n}, None)), COUNTS),
    st.sampled_from(
        [*TO_DIAMOND, Action("equip", ("iron_pickaxe",)), Action("smelt", ({"coal": 1}, {"log": 1}, "furnace"))]
    ),
)
ORDERS = ("fixed", "random", "nearest")


@given(actions=st.lists(GOALS, max_size=8), done=st.integers(0, len(TO_DIAMOND) - 1), limits=st.booleans())
def test_the_horizon_is_the_ticks_that_a_goal_takes(actions: list[Action], done: int, limits: bool) -> None:
    environment = start_task(ticks=10**7, time_limits=limits)
    act_all(environment, TO_DIAMOND[:done])
    for goal in actions:
        if environment.ended:
            break
        before, state, goals = environment.player.spot.tick, environment.state(), environment.goals
        horizon, features = goals.horizon(goal), goals.features(goal)
        routes, materials = goals.routes(goal), goals.materials(goal)
        assert environment.state() == state
        held = dict(environment.player.inventory)
        seen = environment.act(goal)
        if "left to be found in this world" in seen.text:
            assert horizon == inf
        else:
            assert environment.player.spot.tick - before == horizon
        assert routes[0] == goal
        assert {name: type(value) for name, value in features.items()} == KINDS
        if seen.accepted and goal.name in ("craft", "smelt"):
            assert all(held[item] - environment.player.count_held(item) <= count for item, count in materials.items())


TEXTS = ("action", "item", "source", "biome", "seen")
NUMBERS = ("count", "since_seen", "remembered_distance", "depth", "usual_depth", "tier", "tick")
KINDS = {**dict.fromkeys(TEXTS, str), **dict.fromkeys(NUMBERS, float)}


def test_a_goal_is_open_if_the_stated_materials_and_tool_are_held() -> None:
    environment = start_task()
    bucket = Action("craft", ({"bucket": 1}, {"planks": 3}, None))
    stone = Action("mine", ({"cobblestone": 1}, "wooden_pickaxe"))
    assert not environment.goals.is_open(bucket)
    assert not environment.goals.is_open(stone)
    environment.player.inventory |= {"planks": 3, "wooden_pickaxe": 1}
    assert environment.goals.is_open(bucket), "the recipe is not checked"
    assert not environment.act(bucket).accepted
    assert environment.goals.is_open(stone)
    assert environment.goals.is_open(Action("mine", ({"iron_ore": 1}, None)))


def test_the_horizon_does_not_depend_on_luck() -> None:
    environment, plain = start_task(chances=True), start_task()
    goal = Action("mine", ({"log": 2}, None))
    assert environment.goals.horizon(goal) == plain.goals.horizon(goal) < 600


@pytest.mark.parametrize(
    ("goal", "failures"),
    [
        (Action("mine", ({"log": 3}, None)), 600 * (1 / 0.39 - 1)),
        (Action("mine", ({"birch_log": 3}, None)), 600 * (1 / 0.29 - 1)),
        (Action("mine", ({"iron_ore": 3}, "stone_pickaxe")), 3000 * (1 / 0.16 - 1)),
        (Action("kill", ({"wool": 1}, None)), 600 * (1 / 0.44 - 1)),
        (Action("craft", ({"planks": 4}, {"log": 1}, None)), 0),
        (Action("craft", ({"bowl": 4}, {"planks": 3}, "crafting_table")), 600 * (1 / 0.9 - 1)),
        (Action("smelt", ({"glass": 1}, {"sand": 1}, "furnace")), 600 * (1 / 0.8 - 1)),
        (Action("equip", ("shield",)), 0),
    ],
)
def test_with_chances_the_expected_ticks_include_the_failures(goal: Action, failures: float) -> None:
    assert start_task(chances=True).goals.expected_steps(goal, 50) == pytest.approx(50 + failures)
    assert start_task().goals.expected_steps(goal, 50) == 50


def test_routes_are_the_other_sources_of_an_item() -> None:
    goals = start_task().goals
    log = goals.routes(Action("mine", ({"log": 3}, None)))
    assert [dict(each.args[0]) for each in log if isinstance(each.args[0], dict)] == [
        {name: 3} for name in ("log", "birch_log", "acacia_log", "spruce_log", "jungle_log", "dark_oak_log")
    ]
    assert Action("mine", ({"log": 3}, None)) in goals.routes(Action("mine", ({"birch_log": 3}, None)))
    for single in (
        Action("kill", ({"wool": 2}, None)),
        Action("craft", ({"stick": 4}, {"planks": 2}, None)),
        Action("mine", ({"wool": 1}, None)),
        Action("mine", ({"nothing": 1}, None)),
        Action("mine", ("log", None)),
        Action("mine", ()),
    ):
        assert goals.routes(single) == (single,)


def test_every_possible_route_gives_the_wanted_items() -> None:
    for number in range(6):
        environment = start_task(f"MT8/diamond/{number}")
        for route in environment.goals.routes(Action("mine", ({"log": 2}, None))):
            if isfinite(environment.goals.horizon(route)):
                before = environment.player.count_held("log")
                assert environment.act(route).accepted
                assert environment.player.count_held("log") == before + 2


def test_materials_are_those_that_the_plan_states() -> None:
    goals = start_task().goals
    assert goals.materials(Action("craft", ({"stick": 6}, {"planks": 9}, None))) == {"planks": 9}
    assert goals.materials(Action("smelt", ({"iron_ingot": 2}, {"iron_ore": 2}, "furnace"))) == {"iron_ore": 2}
    assert goals.materials(Action("craft", ({"stick": 6}, {"log": 1}, None))) == {"log": 1}
    assert goals.materials(Action("craft", ({"stick": 6}, "planks", None))) == {}
    assert goals.materials(Action("mine", ({"log": 6}, None))) == {}


def test_a_goal_is_multiplied_with_its_materials() -> None:
    goals = start_task().goals
    planks, boots = Action("craft", ({"planks": 4}, {"log": 1}, None)), Action("equip", ("leather_boots",))
    assert goals.with_count(planks, 12) == Action("craft", ({"planks": 12}, {"log": 3}, None))
    assert goals.with_count(planks, 5) == Action("craft", ({"planks": 5}, {"log": 2}, None))
    assert goals.with_count(Action("kill", ({"wool": 1}, None)), 3) == Action("kill", ({"wool": 3}, None))
    assert goals.with_count(boots, 2) == boots
    for goal in goals.list_goals():
        assert goals.with_count(goal, 6) == goals.with_count(goals.with_count(goal, 9), 6)


def test_a_gathered_item_is_also_named_by_its_source() -> None:
    goals = start_task().goals
    assert goals.aliases(Action("kill", ({"mutton": 1}, None))) == ("sheep",)
    assert goals.aliases(Action("mine", ({"cobblestone": 1}, "wooden_pickaxe"))) == ("stone",)
    assert Action("mine", ({"cobblestone": 1}, "golden_pickaxe")) in goals.list_goals()
    assert goals.aliases(Action("craft", ({"wool": 1}, {"string": 4}, None))) == ()


def test_features_distinguish_seen_remembered_and_unknown_sources() -> None:
    environment = start_task()
    oak = Action("mine", ({"log": 1}, None))
    act_all(environment, TO_DIAMOND[:5])
    seen = environment.goals.features(oak)
    assert (seen["seen"], seen["since_seen"], seen["source"]) == ("next to you", 0.0, "oak_tree")
    act_all(environment, TO_DIAMOND[5:6])
    below = environment.goals.features(oak)
    assert below["seen"] == "unseen"
    assert below["depth"] == environment.player.spot.depth > 0
    assert isinstance(below["since_seen"], float)
    assert below["since_seen"] > 0
    obsidian = environment.goals.features(Action("mine", ({"obsidian": 1}, "wooden_pickaxe")))
    assert (obsidian["seen"], obsidian["since_seen"], obsidian["tier"]) == ("unseen", -1.0, 1.0)


def ticks_needed(environment: Minecraft, order: str) -> float:
    """Return how many ticks it takes to reach all parallel goals of a task in one of the orders."""
    assert environment.task is not None
    remaining, rng = parallel_goals(environment.task), random.Random(environment.task.id)
    choices: dict[str, Callable[[], int]] = {
        "fixed": lambda: 0,
        "random": lambda: rng.randrange(len(remaining)),
        "nearest": lambda: min(range(len(remaining)), key=lambda number: environment.goals.horizon(remaining[number])),
    }
    while remaining:
        assert environment.act(remaining.pop(choices[order]())).accepted
    assert environment.verdict().solved
    return environment.player.spot.tick


@pytest.mark.parametrize(("goals", "saved"), [(2, 0.08), (3, 0.15), (4, 0.18)])
def test_the_nearest_goal_first_saves_ticks(goals: int, saved: float) -> None:
    environment = Minecraft(MinecraftOptions(ticks=10**6))
    spent: dict[str, list[float]] = {order: [] for order in ORDERS}
    for task in Minecraft.tasks(Selection(split="parallel", types=(f"parallel_{goals}",), seeds=tuple(range(50)))):
        for order in ORDERS:
            environment.reset(task)
            spent[order].append(ticks_needed(environment, order))
    for other in ("fixed", "random"):
        assert mean(spent["nearest"]) < (1 - saved) * mean(spent[other])


@pytest.mark.deep
def test_the_shipped_table_is_what_the_command_writes() -> None:
    assert HORIZONS_FILE.read_bytes() == render_table().encode(), "run python -m tools.record_goals"


def test_the_shipped_table_is_small_and_begins_with_the_rows_of_the_first_environments(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(record_goals, "SEEDS", SEEDS[:2])
    text = HORIZONS_FILE.read_text(encoding="utf-8")
    assert text.startswith(render_table())
    assert len(text) < 300_000
    assert f"seeds {SEEDS[0]} to {SEEDS[-1]}" in HEADER
    assert "python -m tools.record_goals" in HEADER


def test_no_recorded_seed_is_used_for_measurements() -> None:
    assert set(SEEDS).isdisjoint([*MEASURED, *DEFAULT_SEEDS])
