"""The tasks: the 200 that ADaPT was tested on, and all other items of the same depths for development.

Two of these are kept apart: demonstrations play them.
"""

import json
import random
from collections.abc import Sequence
from functools import cache
from pathlib import Path

from planbook.envs.errors import BadSelection
from planbook.envs.selection import chosen_split, chosen_types, find_task, in_turn
from planbook.envs.textcraft.book import Recipe
from planbook.envs.textcraft.package import book
from planbook.envs.textcraft.wording import read_command
from planbook.envs.types import Selection, Task

PUBLISHED = Path(__file__).with_name("tasks.json")
SPLITS = ("test", "dev", "example")
EXAMPLES = ("respawn anchor", "wooden axe")
TYPES = ("depth_2", "depth_3", "depth_4")
DISTRACTORS = 10
"""How many commands that no way to the goal needs are shown at most (appendix E)."""


def select(selection: Selection) -> list[Task]:
    """The chosen tasks, in turn from each type. Raises BadSelection or MissingRequirement."""
    if selection.ids:
        return [find_task(_tasks(task_id.partition("/")[0]), task_id, "textcraft") for task_id in selection.ids]
    split = chosen_split(selection, SPLITS, "textcraft")
    if selection.seeds:
        raise BadSelection("textcraft: its tasks are not made from seeds; name them by id, such as test/17")
    types = chosen_types(selection, TYPES, "textcraft")
    return list(in_turn(([task for task in _tasks(split) if task.type == kind] for kind in types), selection.limit))


def commands_of(task: Task) -> tuple[Recipe, ...]:
    """The crafting commands that a task shows, in their order. Raises MissingRequirement."""
    target = str(task.params["target"])
    return _published()[task.seed][1] if task.split == "test" else _drawn(target, task.seed)


@cache
def _tasks(split: str) -> Sequence[Task]:
    if split not in SPLITS:
        raise BadSelection(f"textcraft has no split {split!r}; an id reads SPLIT/SEED, for example test/17")
    tested = {seed: item for seed, (item, _) in _published().items()}
    others = dict(enumerate(_untested(set(tested.values())), start=len(tested)))
    shown = {seed: item for seed, item in others.items() if item in EXAMPLES}
    dev = {seed: item for seed, item in others.items() if item not in EXAMPLES}
    seeds = {"test": tested, "dev": dev, "example": shown}[split]
    return tuple(_task(split, seed, item) for seed, item in seeds.items())


def _untested(tested: set[str]) -> list[str]:
    """The other items of depth 2 or more, by name."""
    return sorted(item for item, depth in book().depths.items() if f"depth_{depth}" in TYPES and item not in tested)


def _task(split: str, seed: int, item: str) -> Task:
    return Task(
        id=f"{split}/{seed}",
        env="textcraft",
        split=split,
        type=f"depth_{book().depths[item]}",
        goal=f"craft {item}",
        params={"target": item},
        seed=seed,
    )


@cache
def _published() -> dict[int, tuple[str, tuple[Recipe, ...]]]:
    """Seed to item and commands."""
    tasks = json.loads(PUBLISHED.read_text())["tasks"]
    return {each["seed"]: (each["item"], tuple(map(read_command, each["commands"]))) for each in tasks}


@cache
def _drawn(item: str, seed: int) -> tuple[Recipe, ...]:
    """The commands of a goal's tree, and 10 at most from a pool that has up to 10 uses of each of its ingredients."""
    dice = random.Random(seed)
    tree = book().tree(item)
    pool: set[Recipe] = set()
    for name in dict.fromkeys(need.name for recipe in tree for need in recipe.needs):
        uses = book().uses(name)
        pool.update(dice.sample(uses, min(len(uses), DISTRACTORS)))
    others = sorted(pool - set(tree), key=str)
    shown = tree + dice.sample(others, min(len(others), DISTRACTORS))
    dice.shuffle(shown)
    return tuple(shown)
