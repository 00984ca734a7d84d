"""Minecraft tasks: the tables of the paper, their items, and parallel goals."""

from collections import Counter

import pytest

from planbook.envs import BadSelection, Selection
from planbook.envs.minecraft import Minecraft
from planbook.envs.minecraft.game_data import DATA
from planbook.envs.minecraft.tasks import parallel_goals, required_items
from tests.minecraft_plans import start_task


def test_the_splits_have_the_tasks_of_the_paper() -> None:
    table21 = Minecraft.select(Selection())
    full = Minecraft.select(Selection(split="full"))
    assert (len(table21), len(full)) == (69, 76)
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


def test_tasks_are_selected_by_type_seed_and_limit() -> None:
    assert [task.id for task in Minecraft.select(Selection(types=("MT8_challenge",), seeds=(4, 5)))] == [
        "MT8/diamond/4",
        "MT8/diamond/5",
    ]
    assert len({task.type for task in Minecraft.select(Selection(limit=8))}) == 8
    assert len(Minecraft.select(Selection(seeds=tuple(range(3))))) == 3 * 69


@pytest.mark.parametrize(
    "task_id",
    ["MT2", "MT2/stone_sword", "MT2/stone_sword/x", "MT1/stone_sword/0", "parallel_5/0", "MT2/stone_sword/01"],
)
def test_an_unknown_task_id_is_refused(task_id: str) -> None:
    with pytest.raises(BadSelection, match="GROUP/ITEM/SEED"):
        Minecraft.tasks(Selection(ids=(task_id,)))


def test_a_type_of_another_split_is_refused() -> None:
    with pytest.raises(BadSelection, match="minecraft has no task that fits the selection"):
        Minecraft.select(Selection(split="parallel", types=("MT1_basic",)))


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
    assert "3000 left" in start_task("parallel_2/0").state()
    assert "700 left" in start_task("MT8/diamond/0", ticks=700).state()
    assert "12000 left" in start_task("MT8/diamond/0").state()
