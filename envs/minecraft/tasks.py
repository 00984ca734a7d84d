"""The tasks: the eight groups of the DEPS paper (tables 9 to 16), and tasks with parallel goals (its figure 4).

In a task of a group, the agent must obtain one object. In a task with parallel goals, the agent must obtain several
items, in any order.
"""

import random
from collections.abc import Iterator, Mapping, Sequence

from pydantic import JsonValue

from planbook.envs.errors import BadSelection
from planbook.envs.minecraft.game_data import DATA, milestones
from planbook.envs.selection import chosen_split, chosen_types, interleave
from planbook.envs.types import Action, Selection, Task

ENVIRONMENT = "minecraft"
SPLITS = ("table21", "full", "parallel")
DEFAULT_SEEDS = (0,)
EQUIP = "MT5_equipment"
"""The group whose objects the agent must also equip."""
PARALLEL: Mapping[str, int] = {"parallel_2": 2, "parallel_3": 3, "parallel_4": 4}
"""Maps each task type with parallel goals to the number of goals in a task."""
PARALLEL_TICKS = 3000
"""Number of ticks in an episode with parallel goals: enough for any order of the goals.

The option ``ticks`` can lower it, as in the paper's figure 4.
"""
PARALLEL_START: Mapping[str, int] = {"stone_pickaxe": 1}
"""The inventory at the start of a task with parallel goals. It lets the agent begin with any of the goals."""
TYPES = (*DATA.groups, *PARALLEL)
_TYPE_OF = {item: task_type for task_type, group in DATA.groups.items() for item in group.objects}


def select(selection: Selection) -> list[Task]:
    """Return the selected tasks, taken from each type in turn.

    Raises BadSelection if a selected task or type does not exist.
    """
    if selection.ids:
        return [_task_by_id(task_id) for task_id in selection.ids]
    split = chosen_split(selection, SPLITS, ENVIRONMENT)
    available = tuple(PARALLEL if split == "parallel" else DATA.groups)
    types = [name for name in chosen_types(selection, TYPES, ENVIRONMENT) if name in available]
    seeds = selection.seeds or DEFAULT_SEEDS
    return list(interleave((_tasks_of_type(name, split, seeds) for name in types), selection.limit))


def _tasks_of_type(task_type: str, split: str, seeds: Sequence[int]) -> Iterator[Task]:
    for seed in seeds:
        if task_type in PARALLEL:
            yield parallel_task(task_type, seed)
            continue
        for item in DATA.groups[task_type].objects:
            if split == "full" or item not in DATA.not_in_table_21:
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
    task_type = _TYPE_OF[item]
    return Task(
        id=f"{task_type.partition('_')[0]}/{item}/{seed}",
        env=ENVIRONMENT,
        split="full" if item in DATA.not_in_table_21 else "table21",
        type=task_type,
        goal=f"equip the {item}" if task_type == EQUIP else f"obtain 1 {item}",
        params={"object": item, "count": 1},
        seed=seed,
    )


def parallel_task(task_type: str, seed: int) -> Task:
    """Return a task with several parallel goals. The seed determines the goals and the map."""
    rng = random.Random(f"{task_type}/{seed}")
    chosen = rng.sample(list(DATA.parallel_items.items()), PARALLEL[task_type])
    counts = {name: rng.randint(1, item.max_count) for name, item in chosen}
    goals: list[JsonValue] = [{name: count} for name, count in counts.items()]
    parts = [f"{count} {name}" for name, count in counts.items()]
    return Task(
        id=f"{task_type}/{seed}",
        env=ENVIRONMENT,
        split="parallel",
        type=task_type,
        goal=f"obtain {', '.join(parts[:-1])} and {parts[-1]}",
        params={"goals": goals},
        seed=seed,
    )


def required_items(task: Task) -> dict[str, int]:
    """Return a dict that maps each required item to the number that the agent must hold.

    In the group EQUIP, the agent must also equip the item.
    """
    goals = task.params.get("goals")
    if isinstance(goals, list):
        return {item: int(str(count)) for goal in goals if isinstance(goal, dict) for item, count in goal.items()}
    return {str(task.params["object"]): int(str(task.params["count"]))}


def parallel_goals(task: Task) -> list[Action]:
    """Return the parallel goals of a task as a plan would write them, in the order of ``task.goal``."""
    return [_parallel_goal(item, count) for item, count in required_items(task).items()]


def _parallel_goal(item: str, count: int) -> Action:
    tool = "stone_pickaxe" if "wooden_pickaxe" in milestones(item) else None
    return Action(DATA.parallel_items[item].verb, ({item: count}, tool))
