"""Minecraft tasks: the tables of the paper, their items, and parallel goals."""

from collections import Counter

import pytest

from planbook.envs import Selection
from planbook.envs.minecraft import Minecraft
from planbook.envs.minecraft.game_data import DATA
from planbook.envs.minecraft.tasks import parallel_goals, required_items
from tests.minecraft_plans import start_task


def test_the_splits_have_the_tasks_of_the_paper() -> None:
    table21 = Minecraft.select(Selection())
    full = Minecraft.select(Selection(split="full"))
    assert (len(table21), len(full)) == (69, 76)
    assert len(Minecraft.select(Selection(seeds=(0, 1, 2)))) == 3 * 69
    assert list(Counter(task.type for task in sorted(table21, key=lambda task: task.type)).values()) == [
        14, 12, 7, 6, 9, 7, 13, 1,
    ]  # fmt: skip
    assert {task.id for task in table21} < {task.id for task in full}
    assert [group.ticks for group in DATA.groups.values()] == [3000, 3000, 6000, 3000, 6000, 6000, 6000, 12000]


def test_a_task_states_the_wanted_item() -> None:
    table, boots = Minecraft.select(Selection(ids=("MT2/crafting_table/3", "MT5/iron_boots/4")))
    assert (table.goal, table.params, table.seed) == (
        "obtain 1 crafting_table",
        {"object": "crafting_table", "count": 1},
        3,
    )
    assert boots.goal == "equip the iron_boots"


def test_parallel_tasks_draw_from_all_candidates() -> None:
    tasks = Minecraft.select(Selection(split="parallel", seeds=tuple(range(40))))
    assert {item for task in tasks for item in required_items(task)} == set(DATA.parallel_items)


def test_a_parallel_task_is_solved_when_all_its_items_are_held() -> None:
    environment = start_task("parallel_3/1")
    assert environment.task is not None
    first, second, third = parallel_goals(environment.task)
    assert not environment.act(third).terminated
    assert environment.verdict().score == pytest.approx(1 / 3)
    assert environment.milestones() == list(required_items(environment.task))[2:]
    assert not environment.act(first).terminated
    assert environment.act(second).terminated
    assert environment.verdict().solved


def test_an_option_sets_the_length_of_episodes() -> None:
    assert "700 left" in start_task("parallel_2/0", ticks=700).state()
    assert "Ticks: 0 used, 3000 left." in start_task("parallel_2/0").state()
    assert "700 left" in start_task("MT8/diamond/0", ticks=700).state()
    assert "12000 left" in start_task("MT8/diamond/0").state()
