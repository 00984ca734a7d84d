"""The tasks: the eight groups of the DEPS paper (tables 9 to 16), and tasks with parallel goals (its figure 4).

In a task of a group, the agent must obtain one object. In a task with parallel goals, the agent must obtain several
items, in any order.
"""

import random
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from pydantic import JsonValue

from planbook.envs.errors import BadSelection
from planbook.envs.minecraft.game_data import milestones
from planbook.envs.selection import chosen_split, chosen_types, interleave
from planbook.envs.types import Action, Selection, Task

ENVIRONMENT = "minecraft"
SPLITS = ("table21", "full", "parallel")
NOT_IN_TABLE_21 = frozenset(
    "armor_stand quartz_block stonebrick stone stone_brick_stairs stone_pressure_plate stone_button".split()
)
"""The objects in GROUPS that table 21 of the paper omits."""
DEFAULT_SEEDS = (0,)


class Group(NamedTuple):
    """One of the paper's groups: the length of an episode in ticks, and the objects of its tasks."""

    ticks: int
    objects: tuple[str, ...]


def _group(ticks: int, names: str) -> Group:
    return Group(ticks, tuple(names.split()))


GROUPS: Mapping[str, Group] = {
    "MT1_basic": _group(
        3000,
        "planks stick wooden_slab wooden_pressure_plate bowl wooden_button chest oak_stairs sign fence fence_gate boat "
        "trapdoor wooden_door",
    ),
    "MT2_tool_simple": _group(
        3000,
        "crafting_table wooden_pickaxe wooden_axe wooden_hoe wooden_sword wooden_shovel furnace stone_pickaxe "
        "stone_axe stone_hoe stone_shovel stone_sword",
    ),
    "MT3_hunt_and_food": _group(6000, "bed painting carpet item_frame cooked_porkchop cooked_beef cooked_mutton"),
    "MT4_dig_down": _group(
        3000,
        "stone_stairs stone_slab armor_stand cobblestone_wall quartz_block stonebrick stone torch coal "
        "stone_brick_stairs stone_pressure_plate stone_button lever",
    ),
    "MT5_equipment": _group(
        6000,
        "leather_boots leather_chestplate leather_helmet leather_leggings shield iron_chestplate iron_leggings "
        "iron_helmet iron_boots",
    ),
    "MT6_tool_complex": _group(6000, "bucket shears iron_pickaxe iron_axe iron_hoe iron_shovel iron_sword"),
    "MT7_iron_stage": _group(
        6000,
        "iron_bars iron_nugget minecart hopper hopper_minecart furnace_minecart cauldron chest_minecart iron_door "
        "iron_trapdoor tripwire_hook heavy_weighted_pressure_plate rail",
    ),
    "MT8_challenge": _group(12000, "diamond"),
}
"""Items are named as in Minecraft 1.11.2. Six have other names in the paper's tables: wooden_pressure, door,
stone_brick, stonebrick_stairs, level and heavy_weighted_plate.
"""
EQUIP = "MT5_equipment"
"""The group whose objects the agent must also equip."""
PARALLEL: Mapping[str, int] = {"parallel_2": 2, "parallel_3": 3, "parallel_4": 4}
"""Maps each task type with parallel goals to the number of goals in a task."""
PARALLEL_TICKS = 3000
"""Number of ticks in an episode with parallel goals: enough for any order of the goals.

The option ``ticks`` can lower it, as in the paper's figure 4.
"""
PARALLEL_START: Mapping[str, int] = {"stone_pickaxe": 1}
"""The inventory at the start of parallel tasks, with which any of the goals can be reached first."""
CANDIDATES: Mapping[str, tuple[str, int]] = {
    "log": ("mine", 4),
    "sand": ("mine", 3),
    "reeds": ("mine", 3),
    "coal": ("mine", 3),
    "iron_ore": ("mine", 2),
    "pumpkin": ("mine", 1),
    "wool": ("kill", 2),
    "beef": ("kill", 2),
    "porkchop": ("kill", 2),
    "chicken": ("kill", 2),
    "string": ("kill", 2),
}
"""Maps each item that a parallel goal may name to the goal's verb and the maximum count."""
TYPES = (*GROUPS, *PARALLEL)
_TYPE_OF = {item: kind for kind, group in GROUPS.items() for item in group.objects}


def select(selection: Selection) -> list[Task]:
    """Return the selected tasks, taken from each type in turn.

    Raises BadSelection if a selected task or type does not exist.
    """
    if selection.ids:
        return [_task_by_id(task_id) for task_id in selection.ids]
    split = chosen_split(selection, SPLITS, ENVIRONMENT)
    offered = tuple(PARALLEL if split == "parallel" else GROUPS)
    types = [kind for kind in chosen_types(selection, TYPES, ENVIRONMENT) if kind in offered]
    seeds = selection.seeds or DEFAULT_SEEDS
    return list(interleave((_tasks_of_type(kind, split, seeds) for kind in types), selection.limit))


def _tasks_of_type(kind: str, split: str, seeds: Sequence[int]) -> Iterator[Task]:
    for seed in seeds:
        if kind in PARALLEL:
            yield parallel_task(kind, seed)
            continue
        for item in GROUPS[kind].objects:
            if split == "full" or item not in NOT_IN_TABLE_21:
                yield single_task(item, seed)


def _task_by_id(task_id: str) -> Task:
    name, _, seed = task_id.rpartition("/")
    item = name.partition("/")[2]
    if seed.isdecimal() and (name in PARALLEL or item in _TYPE_OF):
        task = parallel_task(name, int(seed)) if name in PARALLEL else single_task(item, int(seed))
        if task.id == task_id:
            return task
    raise BadSelection(
        f"{ENVIRONMENT} has no task {task_id!r}; ids have the form GROUP/ITEM/SEED, for example MT2/stone_sword/17, "
        "or parallel_3/17; items are named as in Minecraft 1.11.2"
    )


def single_task(item: str, seed: int) -> Task:
    """Return the task of obtaining an object on the map that is generated from a seed."""
    kind = _TYPE_OF[item]
    return Task(
        id=f"{kind.partition('_')[0]}/{item}/{seed}",
        env=ENVIRONMENT,
        split="full" if item in NOT_IN_TABLE_21 else "table21",
        type=kind,
        goal=f"equip the {item}" if kind == EQUIP else f"obtain 1 {item}",
        params={"object": item, "count": 1},
        seed=seed,
    )


def parallel_task(kind: str, seed: int) -> Task:
    """Return a task with several parallel goals. The seed determines the goals and the map."""
    rng = random.Random(f"{kind}/{seed}")
    counts = {item: rng.randint(1, CANDIDATES[item][1]) for item in rng.sample(list(CANDIDATES), PARALLEL[kind])}
    goals: list[JsonValue] = [{item: count} for item, count in counts.items()]
    parts = [f"{count} {item}" for item, count in counts.items()]
    return Task(
        id=f"{kind}/{seed}",
        env=ENVIRONMENT,
        split="parallel",
        type=kind,
        goal=f"obtain {', '.join(parts[:-1])} and {parts[-1]}",
        params={"goals": goals},
        seed=seed,
    )


def required_items(task: Task) -> dict[str, int]:
    """Return a dict that maps each required item to the number that the agent must hold.

    In the group EQUIP, the agent must also wear the item.
    """
    goals = task.params.get("goals")
    if isinstance(goals, list):
        return {item: int(str(count)) for goal in goals if isinstance(goal, dict) for item, count in goal.items()}
    return {str(task.params["object"]): int(str(task.params["count"]))}


def parallel_goals(task: Task) -> list[Action]:
    """Return the parallel goals of a task as a plan would write them, in the order of ``task.goal``."""
    return [
        Action(CANDIDATES[item][0], ({item: count}, "stone_pickaxe" if "wooden_pickaxe" in milestones(item) else None))
        for item, count in required_items(task).items()
    ]
