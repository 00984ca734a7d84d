"""Goals in Minecraft: their effects, refusals and observations, and the end of an episode."""

import time
from typing import Any

import pytest

from planbook.envs import Action
from planbook.envs.minecraft import Minecraft
from tests.minecraft_plans import TO_DIAMOND, act_all, do, start_task


def test_a_diamond_is_obtained_from_nothing_milestone_by_milestone() -> None:
    environment = start_task()
    assert environment.task is not None
    milestones = Minecraft.milestones_of(environment.task)
    assert set(milestones) == set(
        "log planks stick crafting_table wooden_pickaxe cobblestone stone_pickaxe furnace iron_ore iron_ingot "
        "iron_pickaxe diamond".split()
    )
    *before, to_diamond = TO_DIAMOND
    assert all(each.accepted and not each.terminated for each in act_all(environment, before))
    assert environment.milestones() == milestones[:-1]
    assert environment.verdict().score == pytest.approx(11 / 12)
    ticks = list(environment.player.first_held.values())
    assert ticks == sorted(ticks)
    assert ticks[-1] == environment.player.spot.tick
    last = environment.act(to_diamond)
    assert last.terminated
    assert last.text.startswith("You mine 1 diamond. Inventory: ")
    assert environment.verdict().solved


REFUSALS: list[tuple[int, tuple[Any, ...], str]] = [
    (0, ("mine", {"unobtainium": 1}, None), "there is no item called unobtainium"),
    (0, ("mine", {"stone": 1}, None), "stone cannot be mined"),
    (0, ("mine", {"wool": 1}, None), "wool cannot be mined"),
    (0, ("mine", {"planks": 4}, None), "planks cannot be mined"),
    (0, ("mine", {"iron_ingot": 1}, None), "iron_ingot cannot be mined"),
    (0, ("kill", {"log": 1}, None), "log cannot be obtained by killing"),
    (0, ("kill", {"sheep": 1}, None), "there is no item called sheep"),
    (0, ("mine", {"log": 1, "sand": 1}, None), "one kind of thing, not 2"),
    (0, ("mine", {}, None), "one kind of thing, not 0"),
    (0, ("mine", "log", None), 'must be written like {"log": 3}'),
    (0, ("mine", {"log": 0}, None), "whole numbers from 1 to 2304; log has 0"),
    (0, ("mine", {"log": True}, None), "log has True"),
    (0, ("mine", {"log": 10**18}, None), "log has 1000000000000000000"),
    (0, ("mine", {"log": 2000}, None), "there are not 2000 log left"),
    (0, ("mine", {"log": 1}, ["axe"]), "the tool must be a name or None"),
    (
        0,
        ("mine", {"cobblestone": 1}, None),
        "wooden_pickaxe or better to mine cobblestone, and the plan uses none",
    ),
    (0, ("mine", {"cobblestone": 1}, "wooden_pickaxe"), "no tool: you hold no wooden_pickaxe"),
    (5, ("mine", {"iron_ore": 1}, "wooden_pickaxe"), "it takes stone_pickaxe or better to mine iron_ore"),
    (5, ("mine", {"coal": 1}, "axe"), "it takes wooden_pickaxe or better to mine coal"),
    (0, ("craft", {"planks": 4}, {"log": 1}, None), "to craft 4 planks takes 1 log (you hold 0)"),
    (3, ("craft", {"chest": 1}, {"planks": 80}, None), "it takes crafting_table as the tool to craft chest"),
    (3, ("craft", {"chest": 1}, {"planks": 8}, "crafting_table"), "no tool: you hold no crafting_table"),
    (4, ("craft", {"chest": 1}, {"planks": 8}, None), "the tool to craft chest, and the plan uses none."),
    (1, ("craft", {"planks": 8}, {"log": 1}, None), "8 planks takes 2 log, and the plan states 1 log"),
    (1, ("craft", {"planks": 4}, {"stick": 1}, None), "wrong recipe: 4 planks takes 1 log, and the plan states 1"),
    (1, ("craft", {"cooked_beef": 1}, {"beef": 1}, "furnace"), "cooked_beef cannot be crafted"),
    (1, ("smelt", {"planks": 4}, {"log": 1}, "furnace"), "planks cannot be smelted"),
    (1, ("smelt", {"coal": 1}, {"log": 1}, None), "it takes furnace as the tool to smelt coal"),
]


@pytest.mark.parametrize(("done", "call", "reason"), REFUSALS)
def test_a_refusal_gives_the_reason_and_takes_no_time(done: int, call: tuple[Any, ...], reason: str) -> None:
    environment = start_task()
    act_all(environment, TO_DIAMOND[:done])
    before = environment.state()
    name, *args = call
    goal = Action(name, tuple(args))
    refused = environment.act(goal)
    assert not refused.accepted
    assert refused.text.startswith("Nothing happens: ")
    assert reason in refused.text
    assert environment.state() == before


def test_a_terse_refusal_gives_no_reason() -> None:
    environment = start_task(terse=True)
    refused = do(environment, "craft", {"planks": 4}, {"log": 1})
    assert refused.text.startswith(f"It failed. Biome: {environment.biome()}. Inventory: ")
    assert "log" not in refused.text


def test_the_state_of_the_paper_is_inventory_and_biome() -> None:
    environment = start_task(paper_state=True)
    do(environment, "mine", {"log": 2})
    assert environment.state() == f"Inventory: 2 log. Biome: {environment.biome()}."


def test_equipment_must_be_held_wearable_and_worn() -> None:
    environment = start_task("MT5/leather_boots/0")
    act_all(environment, TO_DIAMOND[:4])
    assert "You wear" not in environment.state()
    assert "cannot be equipped" in do(environment, "equip", "log").text
    assert "you hold no leather_boots" in do(environment, "equip", "leather_boots").text
    assert "cannot be equipped" in environment.act(Action("equip", ({"log": 1},))).text
    do(environment, "kill", {"leather": 4})
    assert do(environment, "craft", {"leather_boots": 1}, {"leather": 4}, "crafting_table").accepted
    assert not environment.verdict().solved
    assert 0.5 < environment.verdict().score < 1
    assert do(environment, "equip", "leather_boots").terminated
    assert environment.verdict().solved


def test_a_goal_states_its_effects() -> None:
    environment = start_task()
    assert environment.inventory() == {}
    assert "Inventory: nothing." in environment.state()
    assert do(environment, "mine", {"birch_log": 2}, "axe").text == "You mine 2 log from birch_tree. Inventory: 2 log."
    assert do(environment, "kill", {"mutton": 2}).text == "You kill 2 sheep. Inventory: 2 log, 2 wool, 2 mutton."
    crafted = do(environment, "craft", {"planks": 5}, {"log": 2})
    assert crafted.text == "You craft 8 planks from 2 log. Inventory: 2 wool, 2 mutton, 8 planks.", "surplus is kept"


def test_the_axe_given_at_the_start_is_not_a_wooden_axe() -> None:
    environment = start_task("MT2/wooden_axe/0")
    assert do(environment, "mine", {"log": 3}, "axe").accepted
    assert not environment.verdict().solved


def test_an_episode_is_truncated_when_its_time_is_up() -> None:
    environment = start_task("MT1/planks/0", ticks=100)
    late = do(environment, "mine", {"oak_log": 5})
    assert late.truncated
    assert not late.accepted
    assert "the time is over before you mine 5 log" in late.text
    assert "100 used, 0 left" in environment.state()
    assert not environment.verdict().solved


def test_a_goal_fails_at_its_time_limit() -> None:
    environment = start_task(time_limits=True)
    act_all(environment, TO_DIAMOND[:9])
    before = environment.player.spot
    late = do(environment, "smelt", {"coal": 4}, {"log": 4})
    assert "not enough material" in late.text
    late = do(environment, "kill", {"leather": 9})
    assert late.text.startswith("In vain: to kill 9 cow takes longer than the 600 ticks")
    assert environment.player.spot.tick == before.tick + 600
    assert "leather" not in environment.player.inventory


def test_chances_are_those_of_table_18_and_repeat_in_a_replay() -> None:
    hits = []
    for seed in range(150):
        first = do(start_task(f"MT1/planks/{seed}", chances=True), "mine", {"oak_log": 1})
        assert first == do(start_task(f"MT1/planks/{seed}", chances=True), "mine", {"oak_log": 1})
        hits.append(first.accepted)
        assert first.accepted or first.text.startswith("In vain: bad luck: you did not mine 1 log")
    assert 0.30 < sum(hits) / len(hits) < 0.48


def test_chance_is_drawn_separately_for_each_goal() -> None:
    environment = start_task(chances=True, ticks=10**6)
    assert {do(environment, "mine", {"dirt": 1}).accepted for _ in range(20)} == {True, False}


def test_the_state_and_the_queries_agree_on_what_is_visible() -> None:
    environment = start_task()
    do(environment, "mine", {"log": 1})
    words = environment.sees()
    assert words["oak_tree"] == "next to you"
    assert "oak_tree (next to you)" in environment.state()
    assert environment.inventory() == {"log": 1}
    assert set(words.values()) <= {"next to you", "near", "far"}


def test_a_snapshot_takes_less_than_a_millisecond() -> None:
    environment = start_task()
    act_all(environment, TO_DIAMOND[:6])
    snapshot = environment.snapshot()
    start = time.process_time()
    for _ in range(100):
        environment.restore(snapshot)
        environment.snapshot()
    assert (time.process_time() - start) / 200 < 0.001


def test_versions_state_the_recipes_and_the_deviation() -> None:
    versions = start_task().versions()
    assert versions["recipes"] == "Minecraft 1.11.2, from minedojo 0.1"
    assert "quartz" in versions["deviation"]
